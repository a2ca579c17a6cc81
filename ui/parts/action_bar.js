// Buttons for actions: those that cannot be pressed stay focusable and say why.
import { actions } from '../lib/actions.js';
import { act, whyNot } from '../views/act.js';
import { fill, freshId, h } from './dom.js';
import { icon } from './icons.js';
import { toast } from './toast.js';

export class ActionBar {
  #rows = [];
  #turn = 0;

  constructor(label) {
    this.buttons = actions.map(action => {
      const id = freshId('why'), button = h('button', { class: `act ${action.danger ? 'danger-quiet' : ''}`, 'data-action': action.id, 'aria-disabled': 'true', 'aria-describedby': id, onclick: () => this.#press(action, button) }, icon(action.id), h('span', {}, action.title));
      const why = h('span', { id, class: 'sr' });
      return { action, button, why };
    });
    this.element = h('div', { class: 'actionbar', role: 'toolbar', 'aria-label': label }, this.buttons.map(({ button, why }) => [button, why]));
  }

  async show(rows) {
    this.#rows = rows;
    const turn = this.#turn += 1;
    const reasons = await Promise.all(this.buttons.map(({ action }) => whyNot(action, rows)));
    if (turn !== this.#turn) return;
    this.buttons.forEach(({ button, why }, at) => {
      button.setAttribute('aria-disabled', String(reasons[at] !== ''));
      button.title = reasons[at];
      fill(why, reasons[at]);
    });
  }

  #press(action, button) {
    if (button.getAttribute('aria-disabled') === 'true') { if (button.title) toast(button.title, { tone: 'warn' }); return; }
    act(action, this.#rows.filter(action.applies));
  }
}
