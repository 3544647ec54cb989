import { brandPictureWithDigest } from '../../commands/files/picture.ts';
import { notFound } from '../../domain/refusal.ts';
import { runFilesWithDigest } from '../../projections/benchmarks/benchmark-run.queries.ts';
import { mailFilesWithDigest } from '../../projections/mail/message.queries.ts';
import { type AgentFile, filesWithDigest } from '../../projections/sessions/attachment.queries.ts';
import type { Ctx } from '../http/operation.ts';

const DIGEST = /^[0-9a-f]{64}$/;

const FILES_OF_RUNS = {
  dataset: { filename: 'dataset.jsonl', content_type: 'application/jsonl' },
  trajectory: { filename: 'trajectory.json', content_type: 'application/json' },
} as const;

/**
 * Returns the files with this digest in the sessions, the mail and the benchmark runs of the tenant. The result can
 * contain the same file of an agent once for each of these three.
 */
const filesOfAgents = async ({ reads, tenant }: Ctx, digest: string): Promise<AgentFile[]> => {
  const [ofSessions, ofMail, ofRuns] = await Promise.all([
    filesWithDigest(reads, tenant, digest),
    mailFilesWithDigest(reads, tenant, digest),
    runFilesWithDigest(reads, tenant, digest),
  ]);
  return [...ofSessions, ...ofMail, ...ofRuns.map(({ agent_id, kind }) => ({ agent_id, ...FILES_OF_RUNS[kind] }))];
};

/**
 * Finds a file that the caller may read: a picture of the tenant, or a file of an agent whose sessions the caller may
 * read (in a session, a mail message or a benchmark run).
 * @throws Refusal not_found if there is no such file or the caller may see none of the agents that have it, otherwise
 * forbidden
 */
export const findReadable = async (ctx: Ctx, digest: string): Promise<Pick<AgentFile, 'filename' | 'content_type'>> => {
  if (!DIGEST.test(digest)) throw notFound();
  const picture = await brandPictureWithDigest(ctx, digest);
  if (picture) return picture;
  const files = await filesOfAgents(ctx, digest);
  let refusal: unknown = notFound();
  for (const file of files) {
    if (await ctx.may('agent:chat:read', file.agent_id)) return file;
    if (await ctx.may('agent:read', file.agent_id))
      refusal = await ctx.require('agent:chat:read', file.agent_id).catch((error: unknown) => error);
  }
  throw refusal;
};
