// Who is signed in. The session itself is a cookie that scripts cannot read; this is what the server says of it.
import { forgetAccess } from '../client/access.js';
import { ApiError, get, onSignedOut, post, remove, setApiPrefix } from '../client/client.js';

export let session = null;
const listeners = new Set();
const tell = () => listeners.forEach(listener => listener(session));

export const onSession = listener => { listeners.add(listener); return () => listeners.delete(listener); };

function changed(next) {
  session = next;
  setApiPrefix(next?.api);
  forgetAccess();
  tell();
  return session;
}

/** Whether this server answers that question of the page (below /ui/api/). */
export const answers = question => session?.questions?.includes(question) ?? false;

/** The session of the cookie, or null. */
export async function resume() {
  try {
    return changed(await get('/ui/session', { quiet: true }));
  } catch (error) {
    if (error instanceof ApiError && error.code === 401) return changed(null);
    throw error;
  }
}

/** credential: {token} or {code} */
export const signIn = async credential => changed(await post('/ui/session', credential, { quiet: true }));

export async function signOut() {
  await remove('/ui/session').catch(() => {});
  changed(null);
}

onSignedOut(() => { if (session) changed(null); });
