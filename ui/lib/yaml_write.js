// An object as YAML in block style, as kubectl prints it: lists at the column of their key, texts of several lines as literal blocks.

const AMBIGUOUS = /^(?:true|false|yes|no|on|off|null|y|n|~|[-+]?[\d.][\d_.,:eExXoO+-]*|\.inf|\.nan)$/i;
const PLAIN = /^[A-Za-z0-9_./$(][^\n\t\r\u0000-\u001f\u007f-\u009f\ufeff\u2028\u2029]*$/;

function text(value) {
  if (PLAIN.test(value) && !AMBIGUOUS.test(value) && !/: |:$| #|\s$/.test(value)) return value;
  return JSON.stringify(value).replace(/[\u007f-\u009f\ufeff\u2028\u2029]/g, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// A literal block keeps what it is given only without odd white space and control characters.
const isBlock = value => value.includes('\n') && !/^\s|[ \t]$|\n\n$|[ \t]\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufeff\u2028\u2029]/.test(value);

function block(value, indent) {
  const ends = value.endsWith('\n'), lines = (ends ? value.slice(0, -1) : value).split('\n');
  return `|${ends ? '' : '-'}\n${lines.map(line => line ? `${indent}${line}` : '').join('\n')}`;
}

const isEmpty = value => value !== null && typeof value === 'object' && (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0);

function scalar(value, indent) {
  if (typeof value === 'string') return isBlock(value) ? block(value, indent) : text(value);
  if (isEmpty(value)) return Array.isArray(value) ? '[]' : '{}';
  return value === null || value === undefined ? 'null' : String(value);
}

const isScalar = value => value === null || typeof value !== 'object' || isEmpty(value);

function write(value, indent) {
  if (Array.isArray(value)) {
    return value.map(one => isScalar(one) ? `${indent}- ${scalar(one, `${indent}  `)}` : `${indent}- ${write(one, `${indent}  `).slice(indent.length + 2)}`).join('\n');
  }
  return Object.entries(value).filter(([, one]) => one !== undefined).map(([key, one]) => isScalar(one) ? `${indent}${text(key)}: ${scalar(one, `${indent}  `)}`
    : `${indent}${text(key)}:\n${write(one, Array.isArray(one) ? indent : `${indent}  `)}`).join('\n');
}

export const toYaml = value => `${isScalar(value) ? scalar(value, '') : write(value, '')}\n`;

/** An object as people edit it: without what the server alone writes. */
export function editable(object) {
  const { managedFields, uid, generation, creationTimestamp, ...metadata } = object.metadata ?? {};
  const { status, ...rest } = object;
  return { ...rest, metadata };
}
