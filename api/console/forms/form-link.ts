import type { Form } from './form.ts';
import { bodyOf } from './form-body.ts';

/** Returns the initial values that a link sets in the form's body. A URL cannot set secrets. */
export const prefilled = (form: Form, query: URLSearchParams): Record<string, unknown> => {
  if (form.body?.kind !== 'group') return {};
  const fields = form.body.fields.filter(({ isSecret, name }) => !isSecret && query.has(`/${name}`));
  return bodyOf({ body: { ...form.body, fields }, layout: null }, query, {}).value as Record<string, unknown>;
};

/**
 * Converts the parameters of a link to names of form fields. For example, `agent_id` is a path parameter if the
 * operation has one; otherwise, it is a field of the body.
 */
export const fieldsOfLink = (url: URL, { path, body, query }: Form): URLSearchParams => {
  const inBody = new Set(body?.kind === 'group' ? body.fields.map(({ name }) => name) : []);
  const fields = new URLSearchParams();
  for (const [name, value] of url.searchParams) {
    if (name === 'return_to' || name === 'next') fields.set(name === 'next' ? '_next' : '_return', value);
    else if (path.includes(name) || (name === 'tenant_id' && !inBody.has(name))) fields.set(`:${name}`, value);
    else if (query.some((field) => field.name === name)) fields.append(`?${name}`, value);
    else if (inBody.has(name)) fields.append(`/${name}`, value);
  }
  return fields;
};
