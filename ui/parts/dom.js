// Elements without markup: text is always text. There is no way from data to HTML here, and nothing else in the page makes elements.

const SVG = 'http://www.w3.org/2000/svg';
const SVG_TAGS = new Set(['svg', 'path', 'circle', 'rect', 'line', 'polyline', 'g']);
// What a link may lead to: this page, or a document by https. A script in a field of an object never becomes an address.
const SAFE_LINK = /^(#|https:\/\/|\.?\/?[\w./-]*$)/;

/**
 * h('button', {class: 'quiet', onclick: act, 'aria-label': 'Close'}, 'x', ...): properties that begin with "on" are listeners, `class`, `data-`,
 * `aria-` and all others attributes; `style` takes an object of custom properties. Children are nodes, texts, or lists of both; null and false are left out.
 */
export function h(tag, properties, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(properties ?? {})) set(element, key, value);
  append(element, children);
  return element;
}

export function set(element, key, value) {
  if (key.startsWith('on')) {
    if (typeof value !== 'function') throw new TypeError(`${key} takes a function`);
    element.addEventListener(key.slice(2), value);
  } else if (key === 'style') {
    for (const [name, one] of Object.entries(value)) element.style.setProperty(name, one);
  } else if (key === 'value' || key === 'checked' || key === 'disabled' || key === 'indeterminate' || key === 'selected') {
    element[key] = value;
  } else if (value === null || value === undefined || value === false) {
    element.removeAttribute(key);
  } else {
    if (key === 'href' && !SAFE_LINK.test(value)) throw new TypeError('a link leads out of this page');
    element.setAttribute(key, value === true ? '' : String(value));
  }
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export const fill = (element, ...children) => { element.replaceChildren(); return append(element, children); };

// Attributes and listeners are left as they are: for parts that have no listeners.
function become(element, wanted) {
  const before = [...element.childNodes], after = [...wanted.childNodes];
  after.forEach((next, at) => {
    const was = before[at];
    if (!was) element.append(next);
    else if (was.isEqualNode(next)) return;
    else if (was.nodeType === Node.TEXT_NODE && next.nodeType === Node.TEXT_NODE) was.data = next.data;
    else if (was.nodeType === Node.ELEMENT_NODE && was.cloneNode(false).isEqualNode(next.cloneNode(false))) become(was, next);
    else was.replaceWith(next);
  });
  before.slice(after.length).forEach(one => one.remove());
}

/** As fill, but what is the same stays: the focus, a selection and the place in a list survive what comes every few seconds. */
export const renew = (element, ...children) => { become(element, append(element.cloneNode(false), children)); return element; };

/** Sets the text only when it differs: an unchanged cell costs no layout. A text that is there already is changed and not made anew. */
export function text(element, value) {
  const wanted = String(value ?? ''), { firstChild } = element;
  if (firstChild?.nodeType === Node.TEXT_NODE && !firstChild.nextSibling) { if (firstChild.data !== wanted) firstChild.data = wanted; } else if (element.textContent !== wanted) element.textContent = wanted;
  return element;
}

export const attribute = (element, key, value) => {
  if (element.getAttribute(key) !== value) set(element, key, value);
};

let serial = 0;
export const freshId = prefix => `${prefix}-${serial += 1}`;

/** A field with its label: [label, control] in one element. */
export function labelled(title, control, hint) {
  control.id ||= freshId('field');
  const note = hint ? h('span', { class: 'hint', id: `${control.id}-hint` }, hint) : null;
  if (note) control.setAttribute('aria-describedby', note.id);
  return h('div', { class: 'field' }, h('label', { for: control.id }, title), control, note);
}

export const select = (options, chosen, properties = {}) => h('select', properties, options.map(option => {
  const [value, title] = Array.isArray(option) ? option : [option, option];
  return h('option', { value, selected: value === chosen }, title);
}));
