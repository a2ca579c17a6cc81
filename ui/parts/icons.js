// Line icons, drawn here: 16 by 16, in the colour of the text.
import { h } from './dom.js';

const PATHS = {
  vms: 'M2 3h12v8H2z M5.5 13.5h5 M8 11v2.5', create: 'M8 3v10 M3 8h10', requests: 'M3 4h10 M3 8h7 M3 12h9', nodes: 'M2.5 3h11v4h-11z M2.5 9h11v4h-11z M5 5h.01 M5 11h.01',
  storage: 'M3 4.5c0-1.1 2.2-2 5-2s5 .9 5 2-2.2 2-5 2-5-.9-5-2z M3 4.5v7c0 1.1 2.2 2 5 2s5-.9 5-2v-7 M3 8c0 1.1 2.2 2 5 2s5-.9 5-2', about: 'M8 7.5V12 M8 4.5h.01',
  start: 'M5 3.5l7 4.5-7 4.5z', stop: 'M4 4h8v8H4z', restart: 'M12.5 8a4.5 4.5 0 1 1-1.4-3.3 M12.5 2.5v2.7H9.8', pause: 'M5.5 3.5v9 M10.5 3.5v9', unpause: 'M4 3.5v9 M7.5 3.5l5.5 4.5-5.5 4.5z',
  migrate: 'M2.5 5.5h9 M9 3l2.5 2.5L9 8 M13.5 10.5h-9 M7 8l-2.5 2.5L7 13', delete: 'M3 4.5h10 M6 4.5V3h4v1.5 M4.5 4.5l.6 8.5h5.8l.6-8.5', close: 'M4 4l8 8 M12 4l-8 8',
  search: 'M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8z M10 10l3.5 3.5', theme: 'M8 2.5a5.5 5.5 0 1 0 0 11z M8 2.5v11', full: 'M3 6V3h3 M10 3h3v3 M13 10v3h-3 M6 13H3v-3', keys: 'M2 5h12v6.5H2z M4.5 7.5h.01 M8 7.5h.01 M11.5 7.5h.01 M5 9.7h6',
  paste: 'M5 3.5h6v2H5z M4 4.5H3.5v9h9v-9H12', camera: 'M2.5 5h3l1-1.5h3l1 1.5h3v7.5h-11z M8 7a2 2 0 1 0 0 4 2 2 0 0 0 0-4z', reconnect: 'M3.5 8a4.5 4.5 0 0 1 8-2.8 M12.5 8a4.5 4.5 0 0 1-8 2.8 M11.8 2.5v2.9H9 M4.2 13.5v-2.9H7',
  out: 'M6.5 3H3v10h3.5 M6.5 8H13 M10.5 5.5L13 8l-2.5 2.5', menu: 'M2.5 4.5h11 M2.5 8h11 M2.5 11.5h11', back: 'M9.5 3.5L5 8l4.5 4.5', check: 'M3 8.5l3.5 3.5L13 4.5', warn: 'M8 2.5l6 11H2z M8 6.5v3.5 M8 12h.01', screen: 'M2 3h12v8H2z M8 11v2.5 M5.5 13.5h5',
};

export const icon = name => h('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true', focusable: 'false' }, h('path', { d: PATHS[name] ?? PATHS.about }));
