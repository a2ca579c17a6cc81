// Create a VM: an example, a form, and the YAML beside it; the form changes single values of the text, everything else is the text's.
import { may, notAllowed } from '../client/access.js';
import { asset, items, post, resourcePath } from '../client/client.js';
import { vmLink } from '../lib/route.js';
import { removeField, setValue, valueOf } from '../lib/yaml.js';
import { Editor } from '../parts/editor.js';
import { fill, h, labelled, select, text } from '../parts/dom.js';
import { notice } from '../parts/status.js';
import { toast } from '../parts/toast.js';
import { scope } from '../state/fleet.js';
import { documentsOf, EXAMPLES, RESOURCES } from './examples.js';

const TEMPLATE = ['spec', 'template', 'spec'], DOMAIN = [...TEMPLATE, 'domain'];
const STRATEGIES = ['Always', 'Halted', 'Manual', 'RerunOnFailure', 'Once'];

export function createView() {
  const left = h('div', { class: 'create-form' }), right = h('div', { class: 'create-yaml' }), problem = h('div', {}), form = h('form', { class: 'form', onsubmit: event => { event.preventDefault(); create(); } });
  const button = h('button', { class: 'primary', type: 'submit' }, 'Create'), hint = h('span', { class: 'muted', role: 'status' });
  let editor = null, fields = [], documents = [], types = [], ended = false;

  const chosen = h('div', { class: 'examples', role: 'radiogroup', 'aria-label': 'Begin with' }, EXAMPLES.map((example, at) => h('label', { class: 'example' }, h('input', { type: 'radio', name: 'example', value: example.file, checked: at === 0, onchange: () => begin(example) }), h('span', {}, example.title)))), about = h('p', { class: 'muted', role: 'status' });

  async function begin(example) {
    text(about, example.about);
    try {
      documents = documentsOf(await asset(`examples/${example.file}`));
    } catch (error) {
      fill(problem, notice('bad', 'The example cannot be read.', h('p', {}, error.message)));
      return;
    }
    if (ended) return;
    // The VM, where an example has more than that; what it needs beside it is created first.
    const at = Math.max(0, documents.findIndex(one => valueOf(one, ['kind']) === 'VirtualMachine'));
    documents.unshift(...documents.splice(at, 1));
    editor?.end();
    editor = new Editor(documents[0], { label: 'YAML', onChange: () => { readFields(); judge(); }, onFindings: () => judge() });
    fill(right, documents.length > 1 ? notice('quiet', '', h('p', {}, `This example has ${documents.length - 1} more object${documents.length > 2 ? 's' : ''} (${documents.slice(1).map(one => valueOf(one, ['kind'])).join(', ')}), created along with it.`)) : null, editor.element);
    fill(problem);
    makeFields();
    judge();
  }

  const kind = () => valueOf(editor.value, ['kind']) ?? '';
  const isVm = () => kind() === 'VirtualMachine';
  const namespaceOf = one => valueOf(one, ['metadata', 'namespace']) || scope() || 'default';

  function change(path, value) { editor.value = value === '' ? removeField(editor.value, path) : setValue(editor.value, path, value); readFields(); judge(); editor.checkNow(); }

  function makeFields() {
    const field = (title, path, control, hintText) => {
      control.addEventListener(control.tagName === 'SELECT' ? 'change' : 'input', () => change(path, control.type === 'number' && control.value !== '' ? Number(control.value) : control.value));
      fields.push({ path, control });
      return labelled(title, control, hintText);
    };
    const input = (type = 'text', more = {}) => h('input', { type, autocomplete: 'off', spellcheck: 'false', ...more });
    fields = [];
    const typed = valueOf(editor.value, ['spec', 'instancetype', 'name']) !== undefined;
    fill(form, h('div', { class: 'grid' },
      field('Name', ['metadata', 'name'], input('text', { required: true, pattern: '[a-z0-9]([\\-a-z0-9.]*[a-z0-9])?', maxlength: '253' }), 'Small letters, digits and dashes.'), field('Namespace', ['metadata', 'namespace'], input('text', { placeholder: scope() || 'default' }), ''),
      isVm() ? field('Run strategy', ['spec', 'runStrategy'], select(STRATEGIES, ''), 'Always: it starts at once and after each end.') : null,
      isVm() && (typed || types.length) ? sizeField() : null,
      isVm() && !typed ? [field('CPU cores', [...DOMAIN, 'cpu', 'cores'], input('number', { min: '1', max: '256', placeholder: '1' }), ''), field('Memory', [...DOMAIN, 'memory', 'guest'], input('text', { placeholder: '1Gi' }), 'For example 512Mi or 4Gi.')] : null,
      imagePath() ? field('Image', imagePath(), input(), 'A container image with a disk, or a name in the image store (virtgate image list).') : null),
    h('div', { class: 'actions' }, button, hint));
    readFields();
  }

  // By size, or by an instance type: one excludes the other, so that choosing one takes the other out of the text.
  function sizeField() {
    const now = valueOf(editor.value, ['spec', 'instancetype', 'name']) ?? '';
    const control = select([['', 'None: sizes below'], ...new Set([now, ...types].filter(Boolean))], now, { onchange: () => {
      let next = removeField(editor.value, ['spec', 'instancetype']);
      if (control.value) {
        next = removeField(removeField(next, [...DOMAIN, 'memory']), [...DOMAIN, 'cpu']);
        next = setValue(setValue(next, ['spec', 'instancetype', 'kind'], 'VirtualMachineClusterInstancetype'), ['spec', 'instancetype', 'name'], control.value);
      } else next = setValue(next, [...DOMAIN, 'memory', 'guest'], '1Gi');
      editor.value = next;
      makeFields();
      judge();
      editor.checkNow();
    } });
    return labelled('Instance type', control, 'CPUs and memory by name.');
  }

  function imagePath() {
    for (let at = 0; at < 8; at += 1) {
      const path = [...(isVm() ? TEMPLATE : ['spec']), 'volumes', at, 'containerDisk', 'image'];
      if (valueOf(editor.value, path) !== undefined) return path;
    }
    return null;
  }

  function readFields() {
    for (const { path, control } of fields) {
      const value = valueOf(editor.value, path) ?? '';
      if (document.activeElement !== control && control.value !== String(value)) control.value = value;
    }
  }

  function target(one) { return RESOURCES[`${valueOf(one, ['apiVersion'])} ${valueOf(one, ['kind'])}`]?.replace('NS', encodeURIComponent(namespaceOf(one))); }

  async function judge() {
    if (!editor) return;
    const path = target(editor.value), errors = editor.errors.length;
    const resource = path?.split('/').at(-1), check = { verb: 'create', group: path?.startsWith('/apis/') ? path.split('/')[2] : '', resource, namespace: namespaceOf(editor.value) };
    const why = !path ? 'This page creates VMs, VMIs, migrations, snapshots, restores, data volumes and claims; use kubectl for other kinds.' : !(await may(check)) ? notAllowed(check) : errors ? `${errors} ${errors === 1 ? 'finding' : 'findings'} to correct first.` : '';
    button.disabled = why !== '';
    text(button, `Create ${kind() === 'VirtualMachine' ? 'VM' : kind()}`);
    text(hint, why);
  }

  async function create() {
    if (button.disabled) return;
    button.disabled = true;
    const all = [...documents.slice(1), editor.value];
    try {
      let made = null;
      for (const one of all) {
        try { made = await post(`${target(one)}?fieldValidation=Strict`, one, { type: 'application/yaml' }); } catch (error) {
          if (!(error.code === 409 && one !== editor.value)) throw error;  // what an example needs beside it may be there already
        }
      }
      toast(`${made.kind} ${made.metadata.name} is created.`);
      location.hash = /^VirtualMachine(Instance)?$/.test(made.kind) ? vmLink(made.metadata.namespace, made.metadata.name) : /DataVolume|Claim/.test(made.kind) ? '#/storage' : '#/vms';
    } catch (error) {
      const causes = error.details?.causes ?? [];
      fill(problem, notice('bad', 'The server refuses this.', h('p', {}, error.message), causes.length > 1 ? h('ul', {}, causes.map(cause => h('li', {}, h('code', {}, cause.field ?? ''), ' ', cause.message ?? ''))) : null, h('p', {}, h('a', { href: '#/requests?refused=1' }, 'Read its story in the requests'))));
      problem.scrollIntoView({ block: 'nearest' });
      button.disabled = false;
    }
  }

  fill(left, h('h2', {}, 'Begin with'), chosen, about, form);
  begin(EXAMPLES[0]);
  items(resourcePath('virtualmachineclusterinstancetypes')).then(found => { types = found.map(one => one.metadata.name).sort(); if (editor && !ended) makeFields(); }).catch(() => {});
  return { element: h('section', { class: 'page create' }, h('div', { class: 'page-head' }, h('h1', {}, 'Create')), problem, h('div', { class: 'create-columns' }, left, right)), title: 'Create', end() { ended = true; editor?.end(); } };
}
