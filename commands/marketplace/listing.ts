import { z } from 'zod';
import { PLATFORM } from '../../domain/event.ts';
import { displayText, Slug, text } from '../../domain/fields.ts';
import { Id25, idOf } from '../../domain/id.ts';
import * as Listing from '../../domain/marketplace/listing.ts';
import { Refusal } from '../../domain/refusal.ts';
import type * as Skill from '../../domain/skills/skill.ts';
import { loadAgent } from '../agents/agent.ts';
import { readAll } from '../blobs.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { createUnique } from '../create-unique.ts';
import { grantAgentSkill } from '../skills/agent-skills.ts';
import { type ImportPorts, readSkillArchive } from '../skills/import-skill.ts';
import { claimSlug } from '../skills/skill.ts';
import { Reason } from '../tenants/tenant.ts';

const VERSION = /^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$/;
const VersionText = z
  .string()
  .regex(VERSION, 'must be 1 to 64 characters of letters, digits, . + _ and -, and start with a letter or digit');

export const ListingCreate = z
  .strictObject({
    slug: Slug.meta({ description: 'The name in the URL, unique on the platform', examples: ['summarize-pull-requests'] }),
    name: displayText(1, 64).meta({ examples: ['Summarize pull requests'] }),
    summary: displayText(1, 280).meta({ description: 'One or two sentences for lists', examples: ['Five sentences about a pull request'] }),
    description: text(0, 65_536).meta({ description: 'What it does, and how to use it', examples: ['Reads the diff of a pull request.'] }),
    kind: z.literal('skill', 'must be "skill"').default('skill').meta({ description: 'Always `skill`' }),
  })
  .meta({ id: 'ListingCreate' });

/** The text fields of the form that publishes a version. */
export const VersionFields = z.strictObject({
  version: VersionText.meta({ description: 'The version; it can be published once', examples: ['1.2.0'] }),
});

export const InstallRequest = z
  .strictObject({
    listing_id: idOf('listing'),
    version: VersionText.nullish().meta({ description: 'The version; null: the newest that is not yanked', examples: ['1.2.0'] }),
    agent_id: Id25.nullish().meta({ description: 'An agent that gets the skill', examples: [null] }),
  })
  .meta({ id: 'InstallRequest' });

/** @throws Refusal slug_taken */
export const createListing = async (ctx: Ctx, { tenant_id, ...fields }: Input<typeof ListingCreate, 'tenant_id'>) => {
  const listing = await createUnique(ctx.inTenant(PLATFORM), Listing, {
    kind: 'listing',
    key: fields.slug,
    claim: () => Listing.create(fields, tenant_id),
    tenantOf: () => tenant_id,
  });
  return { ...listing, state: { ...listing.state, installs: 0 } };
};

/** Called before a bundle is read. @throws Refusal not_found if the listing is another tenant's */
export const assertOwnListing = async (ctx: Ctx, id: string): Promise<void> =>
  Listing.assertExists((await ctx.load(Listing, id)).state, ctx.tenant);

/** The bundle is a zip archive of a skill. @throws Refusal not_found, invalid, conflict if the version exists, rate_limited, unavailable */
export const publishVersion = async (
  ctx: Ctx,
  { id, version }: { readonly id: string; readonly version: string },
  bundle: Uint8Array,
): Promise<Loaded<Listing.Version>> => {
  await ctx.limitFlow('publish');
  const { sha256, size: size_bytes } = await ctx.sideEffect(() => ctx.blobs.put(bundle));
  const loaded = await ctx.transact(Listing, id, Listing.publish(ctx.tenant, { version, sha256, size_bytes }));
  return { ...loaded, state: Listing.versionOf(loaded.state, version) };
};

/** A yanked version can no longer be installed. @throws Refusal not_found */
export const yankVersion = async (
  ctx: Ctx,
  { id, version, reason }: Input<typeof Reason, 'tenant_id' | 'id' | 'version'>,
): Promise<Loaded<Listing.Version>> => {
  const loaded = await ctx.transact(Listing, id, Listing.yank(ctx.tenant, version, reason));
  return { ...loaded, state: Listing.versionOf(loaded.state, version) };
};

export { Reason };

/** Copies the bundle from its publisher to the context's tenant. Returns it with the fields of its skill. */
const takeOver = async (ctx: Ctx, ports: ImportPorts, { tenant_id }: Listing.Listing, { sha256 }: Listing.Version) => {
  const blob = await ctx.inTenant(tenant_id).blobs.get(sha256);
  if (!blob) throw new Refusal('unavailable', 'The bundle of this version cannot be read', { retryAfter: 60 });
  const bundle = await readAll(blob.content);
  const fields = await readSkillArchive(ports, bundle);
  const { size } = await ctx.blobs.put(bundle);
  return { fields, size };
};

/**
 * The skill is private to the tenant, and given to an agent.
 * @throws Refusal not_found, conflict if the version is yanked, slug_taken, invalid, unavailable
 */
export const installListing =
  (ports: ImportPorts) =>
  async (ctx: Ctx, { listing_id, version = null, agent_id }: Input<typeof InstallRequest, 'tenant_id'>): Promise<Loaded<Skill.Skill>> => {
    if (agent_id) await ctx.require('agent:skills:write', agent_id).then(() => loadAgent(ctx, agent_id));
    const { found, fields, size } = await ctx.sideEffect(async () => {
      const listing = (await ctx.load(Listing, listing_id)).state;
      const found = Listing.versionToInstall(listing, version);
      return { found, ...(await takeOver(ctx, ports, listing, found)) };
    });
    const origin = { listing_id, listing_version: found.version, package_digest: found.sha256, package_bytes: size };
    const skill = await claimSlug(ctx, { type: 'SkillInstalled', data: { ...fields, ...origin } });
    if (agent_id) await grantAgentSkill(ctx, { tenant_id: ctx.tenant, agent_id, skill_id: skill.id, is_enabled: true });
    return skill;
  };
