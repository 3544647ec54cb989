/** A link to an external system. Pages of the console show the link. `url` may contain placeholders. */
export type ExternalLink = { label: string; url: string };

export const MAX_EXTERNAL_LINKS = 10;

/**
 * The names of the placeholders that the URL of an external link may contain. `id` is the id of the resource on whose
 * page the link is shown, and `request_id` that of the request that caused an event.
 */
const LINK_PLACEHOLDERS = ['id', 'request_id', 'trace_id', 'delivery_id', 'tenant_id'] as const;

const PLACEHOLDER = /\{([^{}]*)\}/g;

/**
 * Returns whether the text is an http or https URL without a password. It may contain known placeholders, but only
 * after the host.
 */
export const isLinkTemplate = (text: string): boolean => {
  const names: readonly string[] = LINK_PLACEHOLDERS;
  if ([...text.matchAll(PLACEHOLDER)].some(([, name]) => !names.includes(name!))) return false;
  const filled = text.replaceAll(PLACEHOLDER, 'x');
  if (/[{}\s]/.test(filled) || !/^https?:\/\/[^/?#{}]+(?:[/?#]|$)/.test(text)) return false;
  const url = URL.parse(filled);
  return url !== null && url.username === '' && url.password === '';
};
