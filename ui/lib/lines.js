// Lines of a stream whose pieces end anywhere.

const LINE_CHARACTERS_MAX = 8 << 20;  // an object of the store has at most some 3 MiB

export class LineSplitter {
  #rest = '';

  /** The lines that are complete now. */
  push(text) {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop();
    if (this.#rest.length > LINE_CHARACTERS_MAX) throw new Error('a line of the watch is too long');
    return lines.filter(line => line !== '');
  }
}
