// xterm.js under a policy without inline styles: it writes its colours and sizes into <style> elements, which the policy forbids. It is given
// a document whose style elements are stand-ins that fill constructed style sheets instead, which the policy allows.
import { h } from './dom.js';

let loading = null;

function styleStandIn() {
  const sheet = new CSSStyleSheet(), element = h('i', { hidden: true });
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(element, 'textContent', { set: css => sheet.replaceSync(css), get: () => '' });
  element.remove = () => { document.adoptedStyleSheets = document.adoptedStyleSheets.filter(one => one !== sheet); Element.prototype.remove.call(element); };
  return element;
}

// Colours of single letters are set as an attribute, which the policy forbids too; the same through the object model is allowed.
function setAttributeByObject(name, value) {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

function createElement(tag, options) {
  if (tag === 'style') return styleStandIn();
  const element = Document.prototype.createElement.call(document, tag, options);
  if (tag === 'span') element.setAttribute = setAttributeByObject;
  return element;
}

function documentWithoutStyles() {
  return new Proxy(document, {
    get(target, key) {
      if (key === 'createElement') return createElement;
      const value = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Opens a terminal. Its scroll bar asks the page's own document for a style element while it is made. */
export function openTerminal(terminal, place) {
  document.createElement = createElement;
  try { terminal.open(place); } finally { delete document.createElement; }
}

/** {Terminal, FitAddon}; throws when this build of the server has no xterm.js. */
export function loadTerminal() {
  loading ??= (async () => {
    const [{ Terminal }, { FitAddon }] = await Promise.all([import('../vendor/xterm/xterm.mjs'), import('../vendor/xterm/addon-fit.mjs')]);
    await new Promise((done, failed) => document.head.append(h('link', { rel: 'stylesheet', href: 'vendor/xterm/xterm.css', onload: done, onerror: failed })));
    return { Terminal, FitAddon };
  })().catch(error => { loading = null; throw error; });
  return loading;
}

export const terminalOptions = theme => ({ documentOverride: documentWithoutStyles(), fontFamily: 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace', fontSize: 13, scrollback: 5000, convertEol: false, cursorBlink: false, screenReaderMode: true, theme });
