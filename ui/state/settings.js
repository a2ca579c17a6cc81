// What the user chose, kept by the browser: nothing secret.

const THEME = 'virtgate.theme';
export const themes = ['auto', 'light', 'dark'];
export const theme = () => themes.includes(localStorage.getItem(THEME)) ? localStorage.getItem(THEME) : 'auto';

export function applyTheme(chosen = theme()) {
  if (chosen === 'auto') { localStorage.removeItem(THEME); delete document.documentElement.dataset.theme; }
  else { localStorage.setItem(THEME, chosen); document.documentElement.dataset.theme = chosen; }
  window.dispatchEvent(new CustomEvent('virtgate-theme'));
}

export const setting = (name, usual) => { try { return JSON.parse(localStorage.getItem(`virtgate.${name}`)) ?? usual; } catch { return usual; } };
export const keep = (name, value) => localStorage.setItem(`virtgate.${name}`, JSON.stringify(value));
