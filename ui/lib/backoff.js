// How long to wait before the next attempt: doubling from half a second to half a minute, with some chance in it, so that many pages
// do not come back at the same moment.
const FIRST_MS = 500, MOST_MS = 30_000;

export const waitMs = (failures, random = Math.random()) => Math.min(MOST_MS, FIRST_MS * 2 ** Math.min(failures, 10)) * (0.5 + random / 2);
