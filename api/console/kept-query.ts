const PAGE_LINK = /<a (?![^>]*data-now)([^>]*href="(\/console\/t\/[^"#]*))"/g;
const ANY_LINK = /<a ([^>]*href="(\/console[/?][^"#]*))"/g;
const GET_FORM = /<form (?![^>]*data-now)[^>]*method="get"[^>]*>/g;

const keeping = (page: string, links: RegExp, name: string, value: string): string => {
  const isThere = new RegExp(`[?;&]${name}=`);
  const encoded = encodeURIComponent(value);
  return page
    .replaceAll(links, (tag, before: string, href: string) =>
      isThere.test(href) ? tag : `<a ${before}${href.includes('?') ? '&amp;' : '?'}${name}=${encoded}"`,
    )
    .replaceAll(GET_FORM, (tag) => `${tag}<input type="hidden" name="${name}" value="${value}"/>`);
};

/** Adds the time of a page that shows the past to its links and filters, so that they lead to pages of the same time. */
export const keepingTime = (page: string, asOf: string): string => keeping(page, PAGE_LINK, 'as_of', asOf);

/** Adds the time zone of a page to its links and filters, so that they lead to pages in the same zone. */
export const keepingZone = (page: string, zone: string): string => keeping(page, ANY_LINK, 'zone', zone);
