import { brandPictureWithDigest } from '../../commands/files/picture.ts';
import { notFound } from '../../domain/refusal.ts';
import { type AgentFile, filesWithDigest } from '../../projections/sessions/attachment.queries.ts';
import type { Ctx } from '../http/operation.ts';

const DIGEST = /^[0-9a-f]{64}$/;

/**
 * Finds a file that the caller may read: a picture of the tenant, or a file of a session of an agent whose sessions
 * they may read.
 * @throws Refusal not_found if there is none, or the caller may not see its agents; otherwise forbidden
 */
export const findReadable = async (ctx: Ctx, digest: string): Promise<Pick<AgentFile, 'filename' | 'content_type'>> => {
  if (!DIGEST.test(digest)) throw notFound();
  const picture = await brandPictureWithDigest(ctx, digest);
  if (picture) return picture;
  const files = await filesWithDigest(ctx.reads, ctx.tenant, digest);
  let refusal: unknown = notFound();
  for (const file of files) {
    if (await ctx.may('agent:chat:read', file.agent_id)) return file;
    if (await ctx.may('agent:read', file.agent_id))
      refusal = await ctx.require('agent:chat:read', file.agent_id).catch((error: unknown) => error);
  }
  throw refusal;
};
