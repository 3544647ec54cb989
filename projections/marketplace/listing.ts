import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as Listing from '../../domain/marketplace/listing.ts';
import { omit } from '../../domain/omit.ts';
import type { SkillEvent } from '../../domain/skills/skill.ts';
import { add, insert, type Projection, patch } from '../projection.ts';
import type { Table } from '../table.ts';

export const ListingRead = z
  .object({
    id: idOf('listing'),
    tenant_id: idOf('tenant', 'The tenant that offers it'),
    slug: z.string().meta({ description: 'The name in the URL, unique on the platform', examples: ['summarize-pull-requests'] }),
    name: z.string().meta({ examples: ['Summarize pull requests'] }),
    summary: z.string().meta({ description: 'One or two sentences', examples: ['Five sentences about a pull request'] }),
    description: z.string().meta({ description: 'What it does, and how to use it', examples: ['Reads the diff of a pull request.'] }),
    kind: z.literal('skill').meta({ description: 'Always `skill`' }),
    latest_version: z
      .string()
      .nullable()
      .meta({ description: 'The newest version that is not yanked; null if there is none', examples: ['1.2.0'] }),
    installs: z.int().meta({ description: 'How often it was installed', examples: [12] }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'ListingRead' });

export const VersionRead = z
  .object({
    version: z.string().meta({ description: 'The version', examples: ['1.2.0'] }),
    sha256: z.string().meta({ description: 'The SHA-256 of the bundle, in hex', examples: ['9f86d081'.repeat(8)] }),
    size_bytes: z.int().meta({ description: 'The size of the bundle', examples: [4_096] }),
    yanked: z.boolean().meta({ description: 'Whether it can no longer be installed' }),
    created_at: Timestamp,
  })
  .meta({ id: 'VersionRead' });

/**
 * `publisher_id` is the tenant that offers the listing. It is not named `tenant_id`, because the listings of an erased
 * tenant stay.
 */
export const table = {
  name: 'listings',
  key: ['id'],
  stream: 'listing',
  columns: {
    id: 'text',
    publisher_id: 'text',
    slug: 'text',
    name: 'text',
    summary: 'text',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  counters: ['installs'],
  docs: { doc: ListingRead },
  search: ['name', 'slug', 'summary'],
  indexes: [{ columns: ['created_at', 'id'] }, { columns: ['publisher_id', 'created_at', 'id'] }, { columns: ['slug'], unique: true }],
} as const satisfies Table;

/** The published bundles of listings. They are stored as files of the tenant that offers the listing. */
export const bundleTable = {
  name: 'bundles',
  key: ['listing_id', 'version'],
  appendOnly: true,
  columns: { listing_id: 'text', version: 'text', sha256: 'text' },
  docs: {},
  indexes: [{ columns: ['sha256', 'listing_id'] }],
} as const satisfies Table;

export const listings = {
  name: 'listings',
  version: 2,
  categories: ['listing', 'skill'],
  tables: [table, bundleTable],
  on: {
    ListingCreated: (event) => {
      const row = omit(Listing.evolve(Listing.initial, event), 'status', 'versions');
      return insert('listings', { ...row, publisher_id: row.tenant_id, installs: 0 });
    },
    ListingVersionPublished: ({ id, at, data: { version, sha256 } }) => [
      patch('listings', { id }, { latest_version: version, updated_at: at }),
      insert('bundles', { listing_id: id, version, sha256 }),
    ],
    ListingVersionYanked: ({ id, at, data }) => patch('listings', { id }, { latest_version: data.latest_version, updated_at: at }),
    SkillInstalled: ({ data }) => add('listings', { id: data.listing_id }, { installs: 1 }),
  },
} as const satisfies Projection<Listing.ListingEvent | Extract<SkillEvent, { type: 'SkillInstalled' }>>;
