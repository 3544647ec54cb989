/** A link to a system outside the platform that pages of the console show. `url` may contain placeholders. */
export type ExternalLink = { label: string; url: string };

export const MAX_EXTERNAL_LINKS = 10;

/** What a placeholder in the URL of an external link can stand for. */
const LINK_PLACEHOLDERS = ['trace_id', 'delivery_id', 'tenant_id'] as const;

const PLACEHOLDER = /\{([^{}]*)\}/g;

/**
 * Whether the text is an http or https URL without a password. Placeholders are allowed after the host, and only those
 * that are known.
 */
export const isLinkTemplate = (text: string): boolean => {
  const names: readonly string[] = LINK_PLACEHOLDERS;
  if ([...text.matchAll(PLACEHOLDER)].some(([, name]) => !names.includes(name!))) return false;
  const filled = text.replaceAll(PLACEHOLDER, 'x');
  if (/[{}\s]/.test(filled) || !/^https?:\/\/[^/?#{}]+(?:[/?#]|$)/.test(text)) return false;
  const url = URL.parse(filled);
  return url !== null && url.username === '' && url.password === '';
};
