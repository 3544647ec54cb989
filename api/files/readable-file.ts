import { loadAgent } from '../../commands/agents/agent.ts';
import { shownFilename } from '../../commands/files/filename.ts';
import { brandPictureWithDigest } from '../../commands/files/picture.ts';
import { loadUsableSkills, seesAllSkills } from '../../commands/skills/agent-skills.ts';
import { notFound } from '../../domain/refusal.ts';
import { runFilesWithDigest } from '../../projections/benchmarks/benchmark-run.queries.ts';
import { mailFilesWithDigest } from '../../projections/mail/message.queries.ts';
import { bundlesWithDigest } from '../../projections/marketplace/listing.queries.ts';
import { memoryFilesWithDigest } from '../../projections/memory/memory-import.queries.ts';
import { type AgentFile, filesWithDigest } from '../../projections/sessions/attachment.queries.ts';
import { skillsWithPackage } from '../../projections/skills/skill.queries.ts';
import type { Ctx } from '../http/operation.ts';

const DIGEST = /^[0-9a-f]{64}$/;
const ZIP = 'application/zip';

const FILES_OF_RUNS = {
  dataset: { filename: 'dataset.jsonl', content_type: 'application/jsonl' },
  trajectory: { filename: 'trajectory.json', content_type: 'application/json' },
} as const;
const MEMORY_TYPES = { text: 'text/plain', jsonl: 'application/jsonl', json: 'application/json', zip: ZIP } as const;

type ReadableFile = Pick<AgentFile, 'filename' | 'content_type'>;
/** A file of an agent. Anyone who has `permission` on the agent may read it. */
type HeldFile = AgentFile & { readonly permission: 'agent:chat:read' | 'agent:read' };

/**
 * Returns the files with this digest in the sessions, the mail, the benchmark runs and the memories of the tenant. If
 * an agent has the same file several times, it can occur once for each of these four.
 */
const filesOfAgents = async ({ reads, tenant }: Ctx, digest: string): Promise<HeldFile[]> => {
  const [ofSessions, ofMail, ofRuns, ofMemories] = await Promise.all([
    filesWithDigest(reads, { tenant_id: tenant, sha256: digest }),
    mailFilesWithDigest(reads, { tenant_id: tenant, sha256: digest }),
    runFilesWithDigest(reads, tenant, digest),
    memoryFilesWithDigest(reads, tenant, digest),
  ]);
  const files = [...ofSessions, ...ofMail, ...ofRuns.map(({ agent_id, kind }) => ({ agent_id, ...FILES_OF_RUNS[kind] }))];
  return [
    ...ofMemories.map(({ agent_id, source, format }) => ({
      ...{ agent_id, permission: 'agent:read' as const, filename: shownFilename(source), content_type: MEMORY_TYPES[format] },
    })),
    ...files.map((file) => ({ ...file, permission: 'agent:chat:read' as const })),
  ];
};

/** Returns the archive with this digest of a skill that the caller may see, or of a listing that the tenant offers. */
const findArchive = async (ctx: Ctx, digest: string): Promise<ReadableFile | null> => {
  const [bundle] = await bundlesWithDigest(ctx.reads, ctx.tenant, digest);
  if (bundle) return { filename: `${bundle.slug}-${bundle.version}.zip`, content_type: ZIP };
  const found = await skillsWithPackage(ctx.reads, ctx.tenant, digest);
  const seesAll = found.length > 0 && (await seesAllSkills(ctx));
  const skill = found.find(({ visibility }) => seesAll || visibility === 'public');
  return skill ? { filename: `${skill.slug}.zip`, content_type: ZIP } : null;
};

/**
 * Finds a file that a runner may read: the archive of a skill that its agent may use, or a file in a session or in the
 * mail of its agent. @throws Refusal not_found if there is no such file
 */
const findForRunner = async (ctx: Ctx, agent_id: string, digest: string): Promise<ReadableFile> => {
  const { state: agent } = await loadAgent(ctx, agent_id);
  const selected = { tenant_id: ctx.tenant, sha256: digest, agent_id };
  const [ofSessions, ofMail] = await Promise.all([filesWithDigest(ctx.reads, selected), mailFilesWithDigest(ctx.reads, selected)]);
  const [file] = [...ofSessions, ...ofMail];
  if (file) return file;
  const { usable } = await loadUsableSkills(ctx, agent);
  const skill = usable.find(({ state }) => state.package_digest === digest);
  if (!skill) throw notFound();
  return { filename: `${skill.state.slug}.zip`, content_type: ZIP };
};

/**
 * Finds a file that the caller may read. For a runner, see `findForRunner`. For a user, this is a picture of the tenant;
 * the archive of a skill that the caller may see, or of a listing of the tenant; a file of the memory of an agent that
 * the caller may see; or a file in a session, a mail message or a benchmark run of an agent whose sessions the caller may
 * read.
 * @throws Refusal not_found if there is no such file, or the caller may see none of its agents; otherwise forbidden
 */
export const findReadable = async (ctx: Ctx, digest: string): Promise<ReadableFile> => {
  if (!DIGEST.test(digest)) throw notFound();
  if (ctx.principal.kind === 'runner') return findForRunner(ctx, ctx.principal.agent_id, digest);
  const ofTenant = (await brandPictureWithDigest(ctx, digest)) ?? (await findArchive(ctx, digest));
  if (ofTenant) return ofTenant;
  const files = await filesOfAgents(ctx, digest);
  let refusal: unknown = notFound();
  for (const file of files) {
    if (await ctx.may(file.permission, file.agent_id)) return file;
    if (await ctx.may('agent:read', file.agent_id))
      refusal = await ctx.require(file.permission, file.agent_id).catch((error: unknown) => error);
  }
  throw refusal;
};
