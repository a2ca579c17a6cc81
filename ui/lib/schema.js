// Field help from a document of OpenAPI v3: what stands at a path, and what may stand below it.

const SCHEMA = '#/components/schemas/';

/** The schema of a kind, by x-kubernetes-group-version-kind. */
export function schemaOfKind(document, group, version, kind) {
  for (const schema of Object.values(document.components?.schemas ?? {})) {
    if ((schema['x-kubernetes-group-version-kind'] ?? []).some(one => one.group === group && one.version === version && one.kind === kind)) return schema;
  }
  return null;
}

export function resolve(document, schema) {
  let found = schema, description = schema?.description;
  for (let steps = 0; found && steps < 10; steps += 1) {
    const next = found.$ref ?? (found.allOf?.length === 1 ? found.allOf[0].$ref : undefined);
    if (!next?.startsWith(SCHEMA)) break;
    found = document.components?.schemas?.[next.slice(SCHEMA.length)];
    description ??= found?.description;
  }
  return found ? { ...found, description: description ?? found.description } : null;
}

/** What is known of the field at a path: {description, type, fields: [[name, type, description, required]], values} or null. */
export function fieldAt(document, schema, path) {
  let at = resolve(document, schema);
  for (const part of path) {
    if (!at) return null;
    if (typeof part === 'number') at = resolve(document, at.items ?? null);
    else at = resolve(document, at.properties?.[part] ?? (typeof at.additionalProperties === 'object' ? at.additionalProperties : null));
  }
  if (!at) return null;
  const below = at.type === 'array' ? resolve(document, at.items ?? null) : at;
  const required = new Set(below?.required ?? []);
  return {
    description: at.description ?? '', type: typeName(document, at), values: at.enum ?? [],
    fields: Object.entries(below?.properties ?? {}).map(([name, property]) => {
      const one = resolve(document, property) ?? {};
      return { name, type: typeName(document, one), description: property.description ?? one.description ?? '', required: required.has(name) };
    }),
  };
}

export function typeName(document, schema) {
  if (!schema) return '';
  if (schema.type === 'array') return `list of ${typeName(document, resolve(document, schema.items ?? null)) || 'values'}`;
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') return 'map';
  if (schema.oneOf || schema['x-kubernetes-int-or-string'] || schema.format === 'int-or-string') return 'number or text';
  return { string: 'text', integer: 'number', boolean: 'true or false', object: 'object' }[schema.type] ?? schema.type ?? 'object';
}
