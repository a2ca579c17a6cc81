// Sign in: with the one-time code of a link, or a token.
import { get } from '../client/client.js';
import { fill, h, labelled, text } from '../parts/dom.js';
import { signIn } from '../state/session.js';

export function loginView(code, next) {
  const token = h('textarea', { rows: '3', autocomplete: 'off', spellcheck: 'false', required: true, class: 'code secret' });
  const message = h('p', { class: 'error', role: 'alert' });
  const button = h('button', { class: 'primary', type: 'submit' }, 'Sign in');

  async function enter(credential) {
    button.disabled = true;
    text(message, '');
    try {
      // The code leaves the address, and so the history, before anything else happens.
      if (credential.code) history.replaceState(null, '', '#/vms');
      else if (next && next !== location.hash) history.replaceState(null, '', next);
      await signIn(credential);
    } catch (error) {
      text(message, credential.code ? 'This link is not valid any more: it can be used once, within five minutes. Run “virtgate ui” for another one.'
        : error.code === 401 ? 'The server does not know this token. Check that all of it was copied.' : error.message);
    } finally {
      button.disabled = false;
      token.value = '';
    }
  }

  const how = h('p', {}, 'Sign in with a token.');
  get('/ui/sign-in', { quiet: true }).then(({ ways, mode }) => fill(how, ways.includes('link') ? ['Run ', h('code', {}, 'virtgate ui'), ' on the server and open the link that it prints, or sign in with a token, for example the content of ', h('code', {}, 'pki/admin.token'), ' in the state folder.']
    : mode === 'cluster' ? ['Sign in with a token of the cluster: ', h('code', {}, 'kubectl create token NAME'), ' prints one of a service account. It stays on the server, and this page can do what it may do.'] : 'Sign in with a token.')).catch(() => {});
  const form = h('form', { class: 'card login-card', onsubmit: event => { event.preventDefault(); if (token.value.trim()) enter({ token: token.value.trim() }); } },
    h('div', { class: 'brand' }, h('img', { src: 'icon.svg', alt: '', width: '28', height: '28' }), h('h1', {}, 'virtgate')),
    how, labelled('Token', token, 'That of a service account, or another one that the API server knows.'), message, h('div', { class: 'actions' }, button));
  if (code) enter({ code });
  return { element: h('main', { class: 'login' }, form), title: 'Sign in' };
}
