import { type Child, tags } from './tags.ts';

const { a, span } = tags;

type ExternalLink = { readonly label: string; readonly url: string };
type LinkValues = Readonly<Record<string, string | null>>;

/** Fills in the placeholders of a link. Returns null if the value of one of them is unknown. */
export const linkUrl = ({ url }: ExternalLink, values: LinkValues): string | null => {
  const names = [...url.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  if (names.some((name) => (values[name] ?? null) === null)) return null;
  return url.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name]!));
};

/** The tenant's links to other systems whose placeholders all have a value; null if there is none. */
export const externalLinks = (links: readonly ExternalLink[], values: LinkValues): Child => {
  const filled = links.flatMap((link) => {
    const href = linkUrl(link, values);
    return href === null ? [] : [{ label: link.label, href }];
  });
  if (filled.length === 0) return null;
  return span(
    null,
    ...filled.flatMap(({ label, href }, index) => [index > 0 ? ' · ' : null, a({ href, rel: 'noreferrer', target: '_blank' }, label)]),
  );
};

/** The trace id in a trace context (W3C); null without one. */
export const traceIdOf = (traceparent: string | null): string | null => traceparent?.split('-')[1] ?? null;
