import type { Rows } from '../../areas.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { type Child, tags } from './tags.ts';

const { a, span } = tags;

type ExternalLink = { readonly label: string; readonly url: string };
type LinkValues = Readonly<Record<string, string | null>>;

/** Returns the external links of a tenant; none if the tenant cannot be read. */
export const linksOf = (tenant: Answer<ReplyOf<Rows['readTenant']>>): readonly ExternalLink[] =>
  tenant.ok ? tenant.value.external_links : [];

/** Replaces the placeholders of a link by values. Null if the value of one placeholder is unknown. */
export const linkUrl = ({ url }: ExternalLink, values: LinkValues): string | null => {
  const names = [...url.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  if (names.some((name) => (values[name] ?? null) === null)) return null;
  return url.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name]!));
};

/**
 * Renders the tenant's links to other systems. Only links whose placeholders all have a value are shown; null if there
 * is none.
 */
export const externalLinks = (links: readonly ExternalLink[], values: LinkValues): Child => {
  const filled = links.flatMap((link) => {
    const href = linkUrl(link, values);
    return href === null ? [] : [{ label: link.label, href }];
  });
  if (filled.length === 0) return null;
  return span(
    null,
    ...filled.flatMap(({ label, href }, index) => [
      index > 0 ? ' · ' : null,
      a({ href, rel: 'noopener noreferrer', target: '_blank' }, label),
    ]),
  );
};

/** Returns the trace id of a W3C trace context (`traceparent`); null if there is none. */
export const traceIdOf = (traceparent: string | null): string | null => traceparent?.split('-')[1] ?? null;
