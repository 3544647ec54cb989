import type { ListingEvent } from '../../domain/marketplace/listing.ts';
import type { AuditOf } from '../audit-record.ts';

export const listingAudit = {
  ListingCreated: { summary: 'offered {name} in the marketplace', activity: 'create' },
  ListingVersionPublished: { summary: 'published the version {version} of a listing of the marketplace', activity: 'create' },
  ListingVersionYanked: { summary: 'yanked the version {version} of a listing of the marketplace: {reason}', activity: 'delete' },
} satisfies AuditOf<ListingEvent>;
