import { z } from 'zod';
import { createListing, InstallRequest, installListing, ListingCreate, Reason, yankVersion } from '../../commands/marketplace/listing.ts';
import type { ImportPorts } from '../../commands/skills/import-skill.ts';
import { LISTING_SORTS, listingPage, listingWithSlug } from '../../projections/marketplace/listing.queries.ts';
import { ListingRead, listings, VersionRead } from '../../projections/marketplace/listing.ts';
import { SkillRead } from '../../projections/skills/skill.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';

const MARKETPLACE = '/tenant/:tenant_id/marketplace';

/** The operations of the marketplace. `ports` reads the files of a published version. */
export const marketplaceOperationsOf = (ports: ImportPorts) => ({
  listMarketplace: operation({
    method: 'get',
    path: '/marketplace',
    summary: 'List what the marketplace offers',
    permit: 'any',
    query: listQuery(
      {
        q: z.string().min(1).max(255).optional().meta({ description: 'Only listings with this text in their name, slug or summary' }),
        publisher: z.string().min(1).max(64).optional().meta({ description: 'Only listings that the tenant with this id offers' }),
      },
      LISTING_SORTS,
    ),
    reply: z.array(ListingRead),
    projection: listings.name,
    run: (ctx, { q, publisher, ...window }) => listingPage(ctx.reads, { q, publisher }, windowOf(window, LISTING_SORTS)),
  }),
  readListing: operation({
    method: 'get',
    path: '/marketplace/:slug',
    summary: 'Read a listing of the marketplace',
    permit: 'any',
    reply: ListingRead,
    projection: listings.name,
    noConditionalGet: true,
    run: (ctx, { slug }) => listingWithSlug(ctx.reads, slug),
  }),
  createListing: operation({
    method: 'post',
    path: `${MARKETPLACE}/listings`,
    summary: 'Create a listing in the marketplace',
    details: 'All tenants see it. It can be installed once a version is published.',
    permit: 'tenant:marketplace:write',
    body: ListingCreate,
    reply: ListingRead,
    status: 201,
    location: '/marketplace/:slug',
    run: createListing,
  }),
  yankVersion: operation({
    method: 'post',
    path: `${MARKETPLACE}/listings/:id/versions/:version/yank`,
    summary: 'Yank a version of a listing',
    details: 'It can no longer be installed. Skills that were installed from it stay as they are.',
    permit: 'tenant:marketplace:write',
    body: Reason,
    reply: VersionRead,
    run: yankVersion,
  }),
  installListing: operation({
    method: 'post',
    path: `${MARKETPLACE}/install`,
    summary: 'Install a listing as a skill',
    details: 'The skill is private, and keeps its content when the version is yanked. With `agent_id`, the agent gets it, too.',
    permit: 'tenant:skills:write',
    body: InstallRequest,
    reply: SkillRead,
    status: 201,
    location: '/tenant/:tenant_id/skills/:id',
    run: installListing(ports),
  }),
});
