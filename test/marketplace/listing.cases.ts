import fc from 'fast-check';
import * as Listing from '../../domain/marketplace/listing.ts';
import * as listing from '../../projections/marketplace/listing.queries.ts';
import type { AreaCases } from '../fixtures/area-cases.ts';
import { newest, pages, single, TENANT } from '../fixtures/query-case.ts';
import { repeated } from '../fixtures/repeated-decisions.ts';

const queries: AreaCases['queries'] = {
  listingPage: {
    ...pages((reads, window) => listing.listingPage(reads, {}, window)),
    'with a part of the name': { rows: 'page', run: (reads) => listing.listingPage(reads, { q: 'r050007' }, newest) },
    'of a tenant': { rows: 'page', run: (reads) => listing.listingPage(reads, { publisher: 'text 7' }, newest) },
  },
  bundlesWithDigest: { call: { rows: 'tenant', run: (reads) => listing.bundlesWithDigest(reads, TENANT, 'text 7') } },
  listingWithSlug: single((reads) => listing.listingWithSlug(reads, 'text 7')),
};

const fields = { slug: 's', name: 'n', summary: 's', description: 'd', kind: 'skill' } as const;
const version = fc.constantFrom('1', '2');

const decisions: AreaCases['decisions'] = [
  repeated(Listing, [], {
    'marketplace/listing.ts create': fc.constant(Listing.create(fields, 't')),
    'marketplace/listing.ts publish': version.map((one) => Listing.publish('t', { version: one, sha256: 'a', size_bytes: 1 })),
    'marketplace/listing.ts yank': version.map((one) => Listing.yank('t', one, 'why')),
  }),
];

export const cases: AreaCases = { queries, decisions };
