// A WebSocket to a guest that comes back: after a migration, a restart or a lost connection it is opened again; after somebody else took it
// over it is not, since two pages would take it from each other for ever.
import { waitMs } from '../lib/backoff.js';

const PROTOCOL = 'plain.kubevirt.io';
const FAILURES_MAX = 4;  // in a row without having been open: some seconds, after which people are told

/** What to do after a close: 'again', 'taken' or 'ended'. Pure. */
export function afterClose({ reason, running, wasOpen, failures }) {
  if (/took over/.test(reason ?? '')) return 'taken';
  if (!running) return 'ended';
  return !wasOpen && failures >= FAILURES_MAX ? 'ended' : 'again';
}

/** handlers: {open(socket), state(word, text), running()}; words: connecting, open, waiting, taken, ended. `open` gets a socket that is open or opening. */
export class Stream {
  #timer = 0;
  #failures = 0;
  #ended = false;
  socket = null;

  constructor(path, handlers) { Object.assign(this, { path, handlers }); }

  connect() {
    this.#failures = 0;
    this.#open();
  }

  #open() {
    this.close();
    this.#ended = false;
    if (!this.handlers.running()) { this.handlers.state('ended', 'The guest does not run.'); return; }
    this.handlers.state('connecting', 'Connecting…');
    const path = typeof this.path === 'function' ? this.path() : this.path;
    const socket = this.socket = new WebSocket(`wss://${location.host}${path}`, [PROTOCOL]);
    socket.binaryType = 'arraybuffer';
    let wasOpen = false;
    socket.addEventListener('open', () => { wasOpen = true; this.#failures = 0; this.handlers.state('open', ''); });
    socket.addEventListener('close', event => { if (this.socket === socket) this.#closed(event.reason, wasOpen); });
    this.handlers.open(socket);
  }

  #closed(reason, wasOpen) {
    this.socket = null;
    if (this.#ended) return;
    const next = afterClose({ reason, running: this.handlers.running(), wasOpen, failures: this.#failures });
    if (next === 'taken') this.handlers.state('taken', 'Somebody else opened this and took it over.');
    else if (next === 'ended') this.handlers.state('ended', this.handlers.running() ? 'It cannot be opened. See whether you may, and whether the VM has one.' : 'The guest does not run.');
    else {
      this.handlers.state('waiting', wasOpen ? 'The connection is lost; trying again…' : 'It cannot be opened yet; trying again…');
      this.#timer = setTimeout(() => this.#open(), waitMs(this.#failures));
      this.#failures += 1;
    }
  }

  close() {
    clearTimeout(this.#timer);
    this.#ended = true;
    const { socket } = this;
    this.socket = null;
    socket?.close(1000);
  }
}
