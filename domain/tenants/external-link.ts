/** Shown on pages of the console. `url` may contain placeholders. */
export type ExternalLink = { label: string; url: string };

export const MAX_EXTERNAL_LINKS = 10;

/** `id`: the resource of the page; `request_id`: the request that caused an event. */
const LINK_PLACEHOLDERS = ['id', 'request_id', 'trace_id', 'delivery_id', 'tenant_id'] as const;

const PLACEHOLDER = /\{([^{}]*)\}/g;

/** An http or https URL without a password, with known placeholders only after the host. */
export const isLinkTemplate = (text: string): boolean => {
  const names: readonly string[] = LINK_PLACEHOLDERS;
  if ([...text.matchAll(PLACEHOLDER)].some(([, name]) => !names.includes(name!))) return false;
  const filled = text.replaceAll(PLACEHOLDER, 'x');
  if (/[{}\s]/.test(filled) || !/^https?:\/\/[^/?#{}]+(?:[/?#]|$)/.test(text)) return false;
  const url = URL.parse(filled);
  return url !== null && url.username === '' && url.password === '';
};
