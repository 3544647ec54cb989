const decoded = (text: string): string => text.replaceAll('&#39;', "'").replaceAll('&quot;', '"').replaceAll('&amp;', '&');

/** Replaces ids and values in a URL, so that links to the same page of different resources are alike. */
export const linkKind = (url: string): string => {
  const { pathname, searchParams } = new URL(url, 'http://annals.test');
  return `${pathname.replaceAll(/c[0-9a-z]{24}|[0-9a-f-]{36}/g, '(id)')}?${[...searchParams.keys()].sort()}`;
};

const MAX_OF_A_KIND = 2;

/**
 * Returns the URLs of this host to which links in these pages lead. Of many links that differ only in ids and in the
 * values of their parameters, the first two are returned.
 */
export const linksOf = (pages: readonly string[]): readonly string[] => {
  const links = pages.flatMap((text) => [...text.matchAll(/<a\b[^>]*?\shref="(\/[^"#]*)/g)].map((found) => decoded(found[1]!)));
  const counts = new Map<string, number>();
  return [...new Set(links)].filter((link) => {
    const kind = linkKind(link);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return counts.get(kind)! <= MAX_OF_A_KIND;
  });
};
