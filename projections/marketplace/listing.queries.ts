import { containsPattern, defineList, defineQuery } from '../query.ts';
import type { Doc, Page, PageWindow, Reads } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { ListingRead, table } from './listing.ts';

export const LISTING_SORTS = sortFields(table, ListingRead);

/** `q` is a part of the name, the slug or the summary; `publisher` is the id of the tenant that offers the listing. */
type ListingFilter = { readonly q?: string | undefined; readonly publisher?: string | undefined };
type ListingListArgs = { readonly pattern: string | undefined; readonly publisher_id: string | undefined };

const listingList = defineList({ table }, (db, { pattern, publisher_id }: ListingListArgs) =>
  db
    .selectFrom('listings.listings as listing')
    .$if(pattern !== undefined, (query) => query.where('listing.search', 'ilike', pattern!))
    .$if(publisher_id !== undefined, (query) => query.where('listing.publisher_id', '=', publisher_id!)),
);

export const listingPage = (reads: Reads, { q, publisher: publisher_id }: ListingFilter, window: PageWindow): Promise<Page> =>
  reads.page(listingList, { pattern: q === undefined ? undefined : containsPattern(q), publisher_id }, window);

const withSlug = defineQuery((db, { slug }: { slug: string }) =>
  db.selectFrom('listings.listings as listing').select(['listing.doc', 'listing.revision']).where('listing.slug', '=', slug),
);

export const listingWithSlug = async (reads: Reads, slug: string): Promise<Doc | null> => {
  const [found] = await reads.rows(withSlug, { slug });
  return found ? { doc: found.doc, revision: found.revision } : null;
};

/** The maximum number of bundles that are returned for one content. */
const MAX_BUNDLES = 1;

const bundles = defineQuery((db, { publisher_id, sha256 }: { publisher_id: string; sha256: string }) =>
  db
    .selectFrom('listings.bundles as bundle')
    .innerJoin('listings.listings as listing', 'listing.id', 'bundle.listing_id')
    .select(['listing.slug', 'bundle.version'])
    .where('listing.publisher_id', '=', publisher_id)
    .where('bundle.sha256', '=', sha256)
    .limit(({ lit }) => lit(MAX_BUNDLES)),
);

/** Returns a bundle with this digest that the tenant has published. Everybody may read listings. */
export const bundlesWithDigest = async (reads: Reads, publisher_id: string, sha256: string) =>
  (await reads.rows(bundles, { publisher_id, sha256 })).map(({ slug, version }) => ({ slug: slug!, version: version! }));
