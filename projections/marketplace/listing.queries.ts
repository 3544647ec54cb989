import { defineList, defineQuery } from '../query.ts';
import type { Doc, Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { ListingRead, table } from './listing.ts';

export const LISTING_SORTS = sortFields(table, ListingRead);

const listingList = defineList({ table }, (db) => db.selectFrom('listings.listings as listing'));

/** Returns a page of the listings, as ListingRead. */
export const listingPage = (reads: Reads, window: PageWindow): Promise<Page> => reads.page(listingList, {}, window);

const withSlug = defineQuery((db, { slug }: { slug: string }) =>
  db.selectFrom('listings.listings as listing').select(['listing.doc', 'listing.revision']).where('listing.slug', '=', slug),
);

/** Returns the listing with a slug, as ListingRead; null if there is none. */
export const listingWithSlug = async (reads: Reads, slug: string): Promise<Doc | null> => {
  const [found] = await reads.rows(withSlug, { slug });
  return found ? { doc: found.doc, revision: found.revision } : null;
};
