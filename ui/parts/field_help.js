// What the server's OpenAPI says of the field at the cursor. The documents are fetched once, when somebody first edits something.
import { get } from '../client/client.js';
import { fieldAt, schemaOfKind } from '../lib/schema.js';
import { pathText, valueOf } from '../lib/yaml.js';
import { fill, h } from './dom.js';

const documents = new Map();  // group/version -> Promise
const FIELDS_MAX = 60;

const pathOf = apiVersion => apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;

function documentOf(apiVersion) {
  if (!/^[\w.-]+(\/[\w.-]+)?$/.test(apiVersion)) return Promise.reject(new Error('no apiVersion'));
  if (!documents.has(apiVersion)) documents.set(apiVersion, get(`/openapi/v3/${pathOf(apiVersion)}`).catch(error => { documents.delete(apiVersion); throw error; }));
  return documents.get(apiVersion);
}

export async function fieldHelp(place, yaml, path) {
  const apiVersion = valueOf(yaml, ['apiVersion']) ?? '', kind = valueOf(yaml, ['kind']) ?? '';
  const wanted = pathText(path);
  place.dataset.path = wanted;
  let found = null;
  try {
    const document = await documentOf(apiVersion), [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const schema = schemaOfKind(document, group, version, kind);
    found = schema && fieldAt(document, schema, path);
  } catch {
    found = null;
  }
  if (place.dataset.path !== wanted) return;  // the cursor went on
  fill(place, h('p', { class: 'path' }, h('code', {}, wanted || kind || 'Field help')), found ? [
    h('p', { class: 'muted' }, found.type, found.values.length ? `: ${found.values.join(', ')}` : ''),
    found.description ? h('p', {}, found.description) : null,
    found.fields.length ? h('h3', {}, 'Fields') : null,
    found.fields.length ? h('dl', {}, found.fields.slice(0, FIELDS_MAX).map(one => [h('dt', {}, h('code', {}, one.name), ' ', h('span', { class: 'muted' }, one.type, one.required ? ', required' : '')), h('dd', {}, one.description)])) : null,
  ] : h('p', { class: 'muted' }, wanted ? 'This field is not known to the server.' : 'Put the cursor on a field to read what it does.'));
}
