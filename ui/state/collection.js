// Rows by key that follow a list of the server. Changes are told at most once a frame: two hundred changes a second are sixty repaints at most.
import { follow } from '../client/watch.js';

export class Collection {
  rows = new Map();
  state = 'idle';  // idle, loading, live, waiting, refused
  error = null;
  /** Counts whole changes; a view that has seen this number has seen everything. */
  version = 0;
  #listeners = new Set();
  #changed = new Set();
  #frame = 0;
  #end = null;

  constructor(project, keyOf) {
    this.project = project;
    this.keyOf = keyOf;
  }

  start(path, parameters) {
    this.stop();
    this.state = 'loading';
    this.#end = follow(path, { put: one => this.put(one), drop: one => this.drop(one), reset: keys => this.reset(keys), state: (word, error) => this.told(word, error) }, { keyOf: this.keyOf, parameters });
  }

  stop() {
    this.#end?.();
    this.#end = null;
    this.rows.clear();
    this.state = 'idle';
    this.#touch('');
  }

  /** listener(keys): which rows changed, came or went. Returns a function that ends it. */
  listen(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // --- what follow() calls

  put(object) {
    const key = this.keyOf(object), before = this.rows.get(key);
    if (before && before.version === object.metadata.resourceVersion) return;
    this.rows.set(key, this.project(object));
    this.#touch(key);
  }

  drop(object) {
    const key = this.keyOf(object);
    if (this.rows.delete(key)) this.#touch(key);
  }

  reset(keys) {
    for (const key of this.rows.keys()) if (!keys.has(key)) { this.rows.delete(key); this.#touch(key); }
  }

  told(word, error) { this.state = word; this.error = error ?? null; this.#touch(''); }

  #touch(key) {
    this.#changed.add(key);
    this.version += 1;
    this.#frame ||= document.visibilityState === 'hidden' ? setTimeout(() => this.#tell(), 250) : requestAnimationFrame(() => this.#tell());
  }

  #tell() {
    const changed = this.#changed;
    this.#changed = new Set();
    this.#frame = 0;
    for (const listener of [...this.#listeners]) listener(changed);
  }
}
