// The YAML of one VM: edited beside the server's findings, reviewed as a difference, saved unless somebody else was faster.
import { may, notAllowed } from '../client/access.js';
import { get, put, resourcePath } from '../client/client.js';
import { diffLines, withContext } from '../lib/diff.js';
import { editable, toYaml } from '../lib/yaml_write.js';
import { diffView, Editor } from '../parts/editor.js';
import { openDialog } from '../parts/dialog.js';
import { fill, h, text } from '../parts/dom.js';
import { notice } from '../parts/status.js';
import { toast } from '../parts/toast.js';

// The check judges a manifest as one that is created, which has no version yet. Lines keep their numbers.
const asNew = text => text.replace(/^ {2}resourceVersion: .*$/m, '');

export function yamlTab(model) {
  const holder = h('div', {}), hint = h('span', { class: 'muted', role: 'status' }), problem = h('div', {});
  const save = h('button', { class: 'primary', onclick: () => review() }, 'Review and save'), discard = h('button', { onclick: () => begin() }, 'Discard changes');
  let editor = null, original = '', forbidden = '', resource = '';

  function begin() {
    const object = model.vm ?? model.vmi;
    if (!object) return;
    resource = model.vm ? 'virtualmachines' : 'virtualmachineinstances';
    original = toYaml(editable(object));
    editor?.end();
    editor = new Editor(original, { label: `YAML of ${model.name}`, onChange: changed, prepare: asNew });
    fill(holder, editor.element);
    fill(problem);
    changed();
    may({ verb: 'update', group: 'kubevirt.io', resource, namespace: model.namespace, name: model.name }).then(allowed => {
      forbidden = allowed ? '' : notAllowed({ verb: 'update', resource, namespace: model.namespace });
      changed();
    });
  }

  function changed() {
    const differs = editor.value !== original;
    save.disabled = !differs || forbidden !== '';
    save.title = forbidden;
    discard.disabled = !differs;
    text(hint, forbidden || (differs ? 'Not saved yet.' : ''));
  }

  // Changes of the server show at once while nobody has typed; else the conflict is told when saving.
  function refresh() {
    if (!editor) { begin(); return; }
    if (editor.value === original && document.activeElement !== editor.area) {
      const next = model.vm ?? model.vmi;
      if (next && toYaml(editable(next)) !== original) begin();
    }
  }

  async function review() {
    const lines = withContext(diffLines(original, editor.value));
    const message = h('div', { role: 'status' });
    const dialog = openDialog(`Save ${model.name}`, [h('p', {}, 'This is what changes:'), diffView(lines), message], { wide: true,
      buttons: [{ title: 'Go on editing', act: close => close() }, { title: 'Save', class: 'primary', act: () => write(dialog, message) }] });
    try {
      await put(`${resourcePath(resource, model.namespace, model.name)}?dryRun=All&fieldValidation=Strict`, editor.value, { type: 'application/yaml' });
      fill(message, h('p', { class: 'muted' }, 'The server would accept this.'));
    } catch (error) {
      refused(dialog, message, error);
    }
  }

  async function write(dialog, message) {
    const button = dialog.foot.lastChild;
    button.disabled = true;
    try {
      const saved = await put(`${resourcePath(resource, model.namespace, model.name)}?fieldValidation=Strict`, editor.value, { type: 'application/yaml' });
      if (resource === 'virtualmachines') model.vm = saved; else model.vmi = saved;
      dialog.close();
      begin();
      toast(`${model.name} is saved.${(saved.status?.conditions ?? []).some(one => one.type === 'RestartRequired' && one.status === 'True') ? ' Some changes need a restart.' : ''}`);
    } catch (error) {
      button.disabled = false;
      refused(dialog, message, error);
    }
  }

  function refused(dialog, message, error) {
    const conflict = error.code === 409;
    fill(message, notice('bad', conflict ? 'Somebody else changed this VM meanwhile.' : 'The server refuses this.', h('p', {}, error.message),
      conflict ? h('button', { onclick: () => { dialog.close(); rebase(); } }, 'Take over the newer version and show my changes') : null));
    dialog.foot.lastChild.disabled = error.code !== 0;  // a server that could not be reached may be asked again
  }

  // My text stays; what it is compared with, and its version, become the server's.
  async function rebase() {
    const mine = editor.value, theirs = await get(resourcePath(resource, model.namespace, model.name));
    original = toYaml(editable(theirs));
    editor.value = mine.replace(/^( {2}resourceVersion: ).*$/m, `$1${JSON.stringify(theirs.metadata.resourceVersion)}`);
    fill(problem, notice('warn', 'The VM was changed by somebody else.', h('p', {}, 'Your text is compared with the newer version now. Review carefully: saving undoes what the others changed where your text differs.')));
    changed();
  }

  model.listeners.add(refresh);
  refresh();
  return { element: h('div', { class: 'yaml' }, h('div', { class: 'toolbar' }, save, discard, hint), problem, holder), end() { model.listeners.delete(refresh); editor?.end(); } };
}
