// A WebSocket to a guest that comes back: after a migration, a restart or a lost connection it is opened again; after somebody else took it
// over it is not, since two pages would take it from each other for ever.
import { placed, send } from '../client/client.js';
import { waitMs } from '../lib/backoff.js';
import { sentence } from '../lib/story.js';

const NOT_RUNNING = 'The guest does not run. This opens by itself when it does.';
const PROTOCOL = 'plain.kubevirt.io';
const FAILURES_MAX = 4;  // in a row without having been open for a while: some seconds, after which people are told
const STEADY_MS = 3000;  // what is shut at once whenever it is opened would else be opened for ever

/** What to do after a close: 'again', 'taken' or 'ended'. `openMs`: how long it had been open. Pure. */
export function afterClose({ reason, running, openMs, failures }) {
  if (/took over/.test(reason ?? '')) return 'taken';
  if (!running) return 'ended';
  return openMs < STEADY_MS && failures >= FAILURES_MAX ? 'ended' : 'again';
}

const WRAPPING = /^(internal error: )?(the node did not open the stream: )?(the node answered \d+ \([^)]*\): )?/;

/** What a refusal to open it means: {next: 'again', 'taken' or 'ended', text}. Pure. */
export function afterRefusal({ code, message }) {
  const inUse = /in use|another session is active/.test(message), never = /not supported|\bhas no (display|serial console)\b|You may not/.test(message) || code === 403;
  return { next: inUse ? 'taken' : never ? 'ended' : 'again', text: sentence(message.replace(WRAPPING, '').trim()) };
}

/** handlers: {open(socket), state(word, text), running()}; words: connecting, open, waiting, taken, ended. `open` gets a socket that is open or opening. */
export class Stream {
  #timer = 0;
  #failures = 0;
  #ended = false;
  #address = '';
  socket = null;

  constructor(path, handlers) { Object.assign(this, { path, handlers }); }

  connect() {
    this.#failures = 0;
    this.#open();
  }

  #open() {
    this.close();
    this.#ended = false;
    if (!this.handlers.running()) { this.handlers.state('ended', NOT_RUNNING); return; }
    this.handlers.state('connecting', 'Connecting…');
    this.#address = typeof this.path === 'function' ? this.path() : this.path;
    const socket = this.socket = new WebSocket(`wss://${location.host}${placed(this.#address)}`, [PROTOCOL]);
    socket.binaryType = 'arraybuffer';
    let openedAt = Infinity;
    socket.addEventListener('open', () => { openedAt = performance.now(); this.handlers.state('open', ''); });
    socket.addEventListener('close', event => { if (this.socket === socket) this.#closed(event.reason, performance.now() - openedAt); });
    this.handlers.open(socket);
  }

  async #closed(reason, openMs) {
    this.socket = null;
    if (this.#ended) return;
    if (openMs >= STEADY_MS) this.#failures = 0;
    const told = openMs < 0 && this.handlers.running() ? await this.#why() : null;
    if (this.#ended || this.socket) return;
    if (told && told.next !== 'again') { this.handlers.state(told.next, told.text); return; }
    const next = afterClose({ reason, running: this.handlers.running(), openMs, failures: this.#failures });
    if (next === 'taken') this.handlers.state('taken', 'Somebody else opened this and took it over.');
    else if (next === 'ended') this.handlers.state('ended', this.handlers.running() ? told?.text || 'It is closed whenever it is opened. See the log of the node.' : NOT_RUNNING);
    else {
      this.handlers.state('waiting', openMs >= 0 ? 'The connection is lost; trying again…' : `It cannot be opened yet; trying again. ${told?.text ?? ''}`);
      this.#timer = setTimeout(() => this.#open(), waitMs(this.#failures));
      this.#failures += 1;
    }
  }

  // Browsers do not tell why a WebSocket was refused. A request without the upgrade goes the same way and is refused for the same reason.
  async #why() {
    try {
      await send('GET', this.#address, { timeoutMs: 5000, quiet: true });
    } catch (error) {
      if (error.code >= 400 && !/this is a stream/.test(error.message)) return afterRefusal(error);
    }
    return null;
  }

  close() {
    clearTimeout(this.#timer);
    this.#ended = true;
    const { socket } = this;
    this.socket = null;
    socket?.close(1000);
  }
}
