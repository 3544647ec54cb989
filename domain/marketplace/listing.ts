import type { Recorded } from '../event.ts';
import { type ById, withEntry } from '../immutable-record.ts';
import { conflict, Refusal, slugTaken } from '../refusal.ts';

/** A tenant's offer in the marketplace, which all tenants can install. Its slug is unique on the platform. */
export const category = 'listing';
export const platform = true;

export type ListingFields = {
  readonly slug: string;
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly kind: 'skill';
};

/** A published version. Its content (the bundle) never changes. */
export type Version = {
  readonly version: string;
  readonly sha256: string;
  readonly size_bytes: number;
  readonly yanked: boolean;
  readonly created_at: string;
};

export type ListingEvent =
  | { type: 'ListingCreated'; data: ListingFields & { readonly tenant_id: string } }
  | { type: 'ListingVersionPublished'; data: { readonly version: string; readonly sha256: string; readonly size_bytes: number } }
  | { type: 'ListingVersionYanked'; data: { readonly version: string; readonly latest_version: string | null; readonly reason: string } };

/** `latest_version`: the newest that is not yanked (withdrawn). `versions` are in the order of publication. */
export type Listing = ListingFields & {
  readonly status: 'absent' | 'live';
  readonly id: string;
  readonly tenant_id: string;
  readonly versions: ById<Version>;
  readonly latest_version: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export const initial: Listing = {
  status: 'absent',
  id: '',
  tenant_id: '',
  slug: '',
  name: '',
  summary: '',
  description: '',
  kind: 'skill',
  versions: {},
  latest_version: null,
  created_at: '',
  updated_at: '',
};

export const evolve = (listing: Listing, { type, data, id, at }: Recorded<ListingEvent>): Listing => {
  switch (type) {
    case 'ListingCreated':
      return { ...listing, ...data, status: 'live', id, created_at: at, updated_at: at };
    case 'ListingVersionPublished': {
      const version = { ...data, yanked: false, created_at: at };
      return { ...listing, versions: withEntry(listing.versions, data.version, version), latest_version: data.version, updated_at: at };
    }
    case 'ListingVersionYanked': {
      const version = { ...listing.versions[data.version]!, yanked: true };
      return {
        ...listing,
        versions: withEntry(listing.versions, data.version, version),
        latest_version: data.latest_version,
        updated_at: at,
      };
    }
  }
};

/** @throws Refusal slug_taken if another listing has this slug */
export const create =
  (fields: ListingFields, tenant_id: string) =>
  (listing: Listing): ListingEvent[] => {
    if (listing.status === 'live') throw slugTaken(`The slug ${fields.slug} is taken`);
    return [{ type: 'ListingCreated', data: { ...fields, tenant_id } }];
  };

/** @throws Refusal not_found if the listing does not exist or, with `tenant_id`, belongs to another tenant */
export const assertExists = (listing: Listing, tenant_id?: string): void => {
  if (listing.status === 'live' && (tenant_id === undefined || listing.tenant_id === tenant_id)) return;
  throw new Refusal('not_found', 'There is no such listing');
};

/** @throws Refusal not_found */
export const versionOf = ({ versions }: Listing, version: string): Version => {
  if (!Object.hasOwn(versions, version)) throw new Refusal('not_found', 'The listing has no such version');
  return versions[version]!;
};

/** @throws Refusal not_found if the listing is not this tenant's, conflict if the version exists, even if yanked */
export const publish =
  (tenant_id: string, version: Pick<Version, 'version' | 'sha256' | 'size_bytes'>) =>
  (listing: Listing): ListingEvent[] => {
    assertExists(listing, tenant_id);
    if (Object.hasOwn(listing.versions, version.version))
      throw conflict(
        '/version',
        'version_exists',
        'This version exists already, and a published version never changes: choose another version',
      );
    return [{ type: 'ListingVersionPublished', data: version }];
  };

/** The version can no longer be installed; installed copies stay. @throws Refusal not_found if the version does not exist */
export const yank =
  (tenant_id: string, version: string, reason: string) =>
  (listing: Listing): ListingEvent[] => {
    assertExists(listing, tenant_id);
    if (versionOf(listing, version).yanked) return [];
    const others = Object.values(listing.versions).filter((one) => !one.yanked && one.version !== version);
    const latest_version = others.toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1)).at(-1)?.version ?? null;
    return [{ type: 'ListingVersionYanked', data: { version, latest_version, reason } }];
  };

/** Null: the latest version. @throws Refusal not_found if there is no such version, conflict if it is yanked */
export const versionToInstall = (listing: Listing, version: string | null): Version => {
  assertExists(listing);
  if (version === null && listing.latest_version === null)
    throw conflict('/listing_id', 'no_version', 'The listing has no version that can be installed');
  const found = versionOf(listing, version ?? listing.latest_version!);
  if (found.yanked) throw conflict('/version', 'yanked', 'The version was yanked: install another one');
  return found;
};
