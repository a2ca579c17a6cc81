// Carries out an action on one or many VMs: first what it would do (dry run), then what came of it, VM by VM.
import { may, notAllowed } from '../client/access.js';
import { actionPath, resourcePath, send } from '../client/client.js';
import { checkOf, requestOf } from '../lib/actions.js';
import { plural } from '../lib/format.js';
import { grouped, planWords } from '../lib/plan.js';
import { openDialog } from '../parts/dialog.js';
import { fill, h, text } from '../parts/dom.js';
import { statusMark } from '../parts/status.js';
import { toast } from '../parts/toast.js';

const PLAN = 'application/json;as=Status;g=virtgate.io;v=v1, application/json';
const PARALLEL = 3, NAMES_SHOWN = 8, BY_NAME_MAX = 50;

async function each(rows, work, progress) {
  const results = new Array(rows.length);
  let next = 0, done = 0;
  await Promise.all(Array.from({ length: Math.min(PARALLEL, rows.length) }, async () => {
    while (next < rows.length) {
      const at = next;
      next += 1;
      results[at] = await work(rows[at]);
      progress(done += 1);
    }
  }));
  return results;
}

async function dryRun(action, row) {
  const { method, path } = requestOf(action, row, { resourcePath, actionPath });
  try {
    const response = await send(method, method === 'DELETE' ? `${path}?dryRun=All` : path, { accept: PLAN, body: method === 'DELETE' ? undefined : { dryRun: ['All'] } });
    const answer = method === 'DELETE' ? null : JSON.parse(await response.text() || 'null');
    const words = method === 'DELETE' ? [`Delete the ${row.alone ? 'VMI' : 'VM'}${row.instance ? ' and stop its guest' : ''}`] : planWords(answer?.details?.['virtgate.io']?.would);
    return { name: row.name, row, ok: true, text: words.join('; ') || `The server would accept it.` };
  } catch (error) {
    return { name: row.name, row, ok: false, text: error.message };
  }
}

async function carryOut(action, row) {
  const { method, path } = requestOf(action, row, { resourcePath, actionPath });
  try {
    await send(method, path, { body: method === 'DELETE' ? undefined : {} });
    return { name: row.name, row, ok: true, text: `${action.done}` };
  } catch (error) {
    return { name: row.name, row, ok: false, text: error.message };
  }
}

const names = list => list.length <= NAMES_SHOWN ? list.join(', ') : `${list.slice(0, NAMES_SHOWN).join(', ')} and ${list.length - NAMES_SHOWN} more`;

const outcomes = results => h('ul', { class: 'outcomes' }, grouped(results).map(group => h('li', {}, statusMark(group.ok ? group.outcome : `Refused: ${group.outcome}`, group.ok ? 'good' : 'bad'), results.length > 1 ? h('p', { class: 'muted' }, names(group.names)) : null)));

/** Opens the dialog. Resolves with the results when something was done. */
export async function act(action, rows) {
  const what = rows.length === 1 ? rows[0].name : plural(rows.length, 'VM');
  const note = h('p', { role: 'status', 'aria-live': 'polite' }, 'Asking what it would do…'), plan = h('div', {});
  const dialog = openDialog(`${action.title} ${what}`, [note, plan, action.caution ? h('p', { class: 'muted' }, action.caution) : null], {
    buttons: [{ title: 'Cancel', act: close => close() }, { title: action.title, class: action.danger ? 'danger' : 'primary', act: () => confirm() }] });
  const [cancel, button] = dialog.foot.children;
  button.disabled = true;
  button.classList.add('confirm');
  const planned = await each(rows, row => dryRun(action, row), done => text(note, `Asking what it would do: ${done} of ${rows.length}`));
  const good = planned.filter(one => one.ok);
  text(note, good.length === rows.length ? (rows.length === 1 ? 'This would happen:' : `All ${rows.length} would be accepted:`)
    : good.length === 0 ? 'The server would refuse this.' : `${good.length} of ${rows.length} would be accepted; the others are left out.`);
  fill(plan, outcomes(planned));
  button.disabled = good.length === 0;
  if (good.length > 0 && !action.danger) button.focus();

  async function confirm() {
    button.disabled = true;
    cancel.disabled = true;
    const results = await each(good.map(one => one.row), row => carryOut(action, row), done => text(note, `${done} of ${good.length} done`));
    const bad = results.filter(one => !one.ok);
    if (bad.length === 0) {
      dialog.close(results);
      toast(`${results.length === 1 ? results[0].name : plural(results.length, 'VM')}: ${action.done}.`);
      return;
    }
    text(note, `${results.length - bad.length} of ${results.length} ${action.done}.`);
    fill(plan, outcomes(results));
    cancel.disabled = false;
    text(cancel, 'Close');
    cancel.onclick = () => dialog.close(results);
  }
  return dialog.closed;
}

/** Which of the actions may be pressed for these rows: id -> '' or why not. */
export async function whyNot(action, rows) {
  if (rows.length === 0) return 'Select VMs first.';
  const fitting = rows.filter(action.applies);
  if (fitting.length === 0) return action.hint;
  const byName = fitting.length <= BY_NAME_MAX;
  const checks = new Map(fitting.map(row => { const check = checkOf(action, row, byName); return [JSON.stringify(check), check]; }));
  const allowed = await Promise.all([...checks.values()].map(async check => await may(check) ? '' : notAllowed(check)));
  return allowed.find(one => one === '') === '' ? '' : allowed[0];
}
