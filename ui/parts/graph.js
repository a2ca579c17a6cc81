// A line graph of the last minutes on a canvas, with its newest values as text beside it: the picture is decoration for who cannot see it.
import { ceiling } from '../lib/rates.js';
import { h, text } from './dom.js';

const SECONDS = 120;

/** lines: [{key, title, colour: a custom property}]; print(value) for texts. least: the smallest end of the axis. */
export class Graph {
  constructor(title, lines, { print, least = 1, base = 10, most }) {
    Object.assign(this, { lines, print, least, base, most });
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.values = lines.map(line => h('span', { class: 'value' }));
    this.top = h('span', { class: 'axis', 'aria-hidden': 'true' });
    this.plot = h('div', { class: 'plot' }, this.canvas, this.top);
    this.note = h('p', { class: 'muted' });
    this.element = h('figure', { class: 'graph' }, h('figcaption', {}, h('span', { class: 'graph-title' }, title),
      h('span', { class: 'legend' }, lines.map((line, at) => h('span', { class: 'entry' }, h('i', { class: `swatch ${line.colour}`, 'aria-hidden': 'true' }), lines.length > 1 ? h('span', { class: 'muted' }, line.title) : null, this.values[at])))),
    this.plot, this.note);
  }

  /** Something else in place of the lines: why there are none. */
  say(message) { this.plot.hidden = Boolean(message); text(this.note, message); }

  draw(points, nowMs) {
    const newest = points.at(-1);
    this.lines.forEach((line, at) => text(this.values[at], newest && Number.isFinite(newest[line.key]) ? this.print(newest[line.key]) : '–'));
    const most = this.most?.();
    const end = Number.isFinite(most) && most > 0 ? most : ceiling(points.flatMap(point => this.lines.map(line => point[line.key])), this.least, this.base);
    text(this.top, this.print(end));
    this.#paint(points, nowMs, end);
  }

  #paint(points, nowMs, end) {
    const { canvas } = this, ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    if (canvas.width !== Math.round(width * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); }
    const context = canvas.getContext('2d'), style = getComputedStyle(canvas);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.strokeStyle = style.getPropertyValue('border-top-color');
    context.lineWidth = 1;
    for (const part of [0, 0.5, 1]) { context.beginPath(); context.moveTo(0, Math.round(1 + (height - 2) * part) + 0.5 - (part ? 1 : 0)); context.lineTo(width, Math.round(1 + (height - 2) * part) + 0.5 - (part ? 1 : 0)); context.stroke(); }
    const x = time => width - (nowMs - time) / 1000 / SECONDS * width, y = value => height - 2 - value / end * (height - 4);
    for (const [at, line] of this.lines.entries()) {
      const colour = getComputedStyle(this.element.querySelector(`.swatch.${line.colour}`)).backgroundColor;
      const shown = points.filter(point => Number.isFinite(point[line.key]));
      if (shown.length < 2) continue;
      context.beginPath();
      shown.forEach((point, index) => context[index ? 'lineTo' : 'moveTo'](x(point.time), y(Math.min(end, point[line.key]))));
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.lineJoin = 'round';
      context.stroke();
      if (at === 0) {
        context.lineTo(x(shown.at(-1).time), height);
        context.lineTo(x(shown[0].time), height);
        context.globalAlpha = 0.12;
        context.fillStyle = colour;
        context.fill();
        context.globalAlpha = 1;
      }
    }
  }
}
