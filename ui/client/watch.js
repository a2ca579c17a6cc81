// Follows a list: lists it, then watches it from there. A watch that ends goes on where it was; one whose version is gone (410) lists again;
// a server that cannot be reached is asked again with back-off. A page that nobody looks at gives its connections back after a while: a
// browser has six for one server, shared by all tabs.
import { waitMs } from '../lib/backoff.js';
import { LineSplitter } from '../lib/lines.js';
import { ApiError, listAll, send } from './client.js';

const HIDDEN_MS = 60_000;
const GONE = 410;

/**
 * sink: {reset(keys: Set), put(object), drop(object), state(word, error)}. `reset` comes after a whole list: what is not among its keys is
 * gone. Words of state: loading, live, waiting (of a page that is hidden or a server that is away), refused. Returns a function that ends it.
 */
export function follow(path, sink, { keyOf, parameters = {} }) {
  const end = new AbortController();
  let version = '', failures = 0, wake = () => {};
  const pause = ms => new Promise(done => { wake = done; setTimeout(done, ms); end.signal.addEventListener('abort', done, { once: true }); });

  async function list() {
    if (!version) sink.state('loading');
    const keys = new Set();
    version = await listAll(path, page => page.forEach(object => { keys.add(keyOf(object)); sink.put(object); }), { signal: end.signal, parameters });
    sink.reset(keys);
    sink.state('live');
  }

  // One connection, to its end. True: go on with the version that came last.
  async function watch() {
    const stop = new AbortController(), hidden = hiddenTimer(() => stop.abort());
    const signal = AbortSignal.any([end.signal, stop.signal]);
    try {
      const query = new URLSearchParams({ ...parameters, watch: '1', allowWatchBookmarks: 'true', resourceVersion: version });
      const response = await send('GET', `${path}?${query}`, { signal, timeoutMs: 0 });
      sink.state('live');
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader(), lines = new LineSplitter();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        failures = 0;
        for (const line of lines.push(value)) take(JSON.parse(line));
      }
    } catch (error) {
      if (!stop.signal.aborted) throw error;
    } finally {
      hidden();
    }
  }

  function take({ type, object }) {
    if (type === 'ERROR') throw new ApiError(object.code ?? 500, object.reason ?? '', object.message ?? 'the watch ended with an error');
    version = object.metadata.resourceVersion;
    if (type === 'DELETED') sink.drop(object);
    else if (type !== 'BOOKMARK') sink.put(object);
  }

  (async () => {
    let listed = false;
    while (!end.signal.aborted) {
      try {
        if (!listed) await list();
        listed = true;
        await watch();
        if (document.visibilityState === 'hidden') {
          sink.state('waiting');
          await shown(end.signal);
        }
      } catch (error) {
        if (end.signal.aborted) return;
        if (error.code === GONE) { listed = false; continue; }
        if (error.code === 401) return;
        if (error.code === 403 || error.code === 404) { sink.state('refused', error); return; }
        sink.state('waiting', error);
        await pause(waitMs(failures));
        failures += 1;
      }
    }
  })();
  const online = () => wake();
  window.addEventListener('online', online, { signal: end.signal });
  return () => end.abort();
}

function hiddenTimer(callback) {
  let timer = 0;
  const changed = () => { clearTimeout(timer); if (document.visibilityState === 'hidden') timer = setTimeout(callback, HIDDEN_MS); };
  document.addEventListener('visibilitychange', changed);
  changed();
  return () => { clearTimeout(timer); document.removeEventListener('visibilitychange', changed); };
}

const shown = signal => new Promise(done => {
  const changed = () => { if (document.visibilityState !== 'hidden') done(); };
  document.addEventListener('visibilitychange', changed, { signal });
  signal.addEventListener('abort', done, { once: true });
  changed();
});
