// Storage: claims, data volumes, container disks, storage classes.
import { items, resourcePath } from '../client/client.js';
import { claimUsers, sum } from '../lib/capacity.js';
import { age, bytes, plural, quantity } from '../lib/format.js';
import { imageRows } from '../lib/images.js';
import { vmLink } from '../lib/route.js';
import { plainTable } from '../parts/bar.js';
import { fill, h, renew, text } from '../parts/dom.js';
import { notice, statusMark } from '../parts/status.js';
import { rows as fleet, scope, vmis } from '../state/fleet.js';

const EVERY_MS = 5000, SHOWN_MAX = 300, USERS_MAX = 5;
const CLAIM_TONES = { Bound: 'good', Pending: 'busy', Lost: 'bad' };
const volumeTone = phase => phase === 'Succeeded' ? 'good' : /Fail|Unknown/.test(phase) ? 'bad' : /Paused|Wait/.test(phase) ? 'warn' : 'busy';
const links = rows => rows.length === 0 ? h('span', { class: 'muted' }, 'nobody') : [rows.slice(0, USERS_MAX).map((row, at) => [at ? ', ' : '', h('a', { href: vmLink(row.namespace, row.name) }, row.name)]), rows.length > USERS_MAX ? ` and ${rows.length - USERS_MAX} more` : ''];

export function storageView(route) {
  const summary = h('p', { class: 'summary', role: 'status' }), end = new AbortController();
  const parts = ['Claims', 'Data volumes', 'Container disks', 'Storage classes'].map(title => ({ title, body: h('div', {}, h('p', { class: 'muted' }, 'Loading…')) }));
  const [claims, volumes, images, classes] = parts;

  async function one(part, resource, namespaced, draw) {
    try {
      const found = await items(resourcePath(resource, namespaced ? scope() : ''), { signal: end.signal });
      renew(part.body, draw(found.slice(0, SHOWN_MAX)), found.length > SHOWN_MAX ? h('p', { class: 'muted' }, `${found.length - SHOWN_MAX} more are not shown.`) : null);
      return found;
    } catch (error) {
      if (!end.signal.aborted) fill(part.body, notice(error.code === 404 ? 'quiet' : 'bad', `${part.title} cannot be read.`, h('p', {}, error.message)));
      return [];
    }
  }

  // Who may not list nodes sees what is in use.
  async function showImages() {
    let nodes = [], why = '';
    try { nodes = await items(resourcePath('nodes'), { signal: end.signal }); } catch (error) { why = error.message; }
    if (end.signal.aborted) return;
    const rows = imageRows(nodes, vmis.rows.values());
    renew(images.body, plainTable('Container disks', ['Image', 'Size', 'Nodes', 'Used by'], rows.slice(0, SHOWN_MAX).map(row => [h('code', {}, row.name), Number.isFinite(row.bytes) ? bytes(row.bytes) : '', row.nodes.join(', '), links(row.users)]), 'No node has one, and no running guest uses one.'),
      why ? h('p', { class: 'muted' }, `Only what running guests use is shown: ${why}`) : h('p', { class: 'muted' }, 'Each node tells of its fifty largest, once a minute.'));
  }

  async function load() {
    if (document.visibilityState === 'hidden') return;
    const now = Date.now(), users = claimUsers(fleet.values()), marked = route.query.claim;
    const [found] = await Promise.all([
      one(claims, 'persistentvolumeclaims', true, list => plainTable('Claims', ['Name', 'Namespace', 'Status', 'Size', 'Class', 'Used by', 'Age'], list.map(claim => [claim.metadata.name === marked ? h('mark', {}, claim.metadata.name) : claim.metadata.name, claim.metadata.namespace, statusMark(claim.status?.phase ?? 'Pending', CLAIM_TONES[claim.status?.phase] ?? 'busy'),
        claim.status?.capacity?.storage ?? claim.spec?.resources?.requests?.storage ?? '', claim.spec?.storageClassName ?? '', links(users.get(`${claim.metadata.namespace}/${claim.metadata.name}`) ?? []), age(claim.metadata.creationTimestamp, now)]), 'There are no claims. Disks from container images need none.')),
      one(volumes, 'datavolumes', true, list => plainTable('Data volumes', ['Name', 'Namespace', 'Phase', 'Progress', 'Why', 'Age'], list.map(volume => [volume.metadata.name, volume.metadata.namespace, statusMark(volume.status?.phase ?? 'Pending', volumeTone(volume.status?.phase ?? 'Pending')), volume.status?.progress ?? '',
        (volume.status?.conditions ?? []).find(condition => condition.type === 'Running' && condition.message)?.message ?? '', age(volume.metadata.creationTimestamp, now)]), 'There are no data volumes.')),
      one(classes, 'storageclasses', false, list => plainTable('Storage classes', ['Name', 'Provisioner', 'Binding', 'Default'], list.map(one => [one.metadata.name, one.provisioner ?? '', one.volumeBindingMode ?? '', one.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true' ? 'yes' : '']), 'There are no storage classes.')),
      showImages(),
    ]);
    text(summary, `${plural(found.length, 'claim')}, ${bytes(sum(found, claim => quantity(claim.status?.capacity?.storage ?? claim.spec?.resources?.requests?.storage)))} in all`);
  }
  const timer = setInterval(load, EVERY_MS);
  load();
  return { element: h('section', { class: 'page' }, h('div', { class: 'page-head' }, h('h1', {}, 'Storage'), summary), parts.map(part => h('section', { class: 'card' }, h('h2', {}, part.title), part.body))), title: 'Storage', end() { end.abort(); clearInterval(timer); } };
}
