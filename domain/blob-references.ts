import type { BenchmarkEvent } from './benchmarks/benchmark.ts';
import type { BenchmarkRunEvent } from './benchmarks/benchmark-run.ts';
import { factsOf } from './deliveries/delivery.ts';
import type { MailFacts } from './deliveries/mail-delivery.ts';
import type { DomainEvent, Metadata, Recorded } from './event.ts';
import type { PictureEvent } from './files/picture.ts';
import type { AttachmentEvent } from './mail/attachment.ts';
import type { ListingEvent } from './marketplace/listing.ts';
import type { AgentMemoryEvent } from './memory/agent-memory.ts';
import type { MemoryImportEvent } from './memory/memory-import.ts';
import type { SessionEvent } from './sessions/session.ts';
import type { SkillEvent } from './skills/skill.ts';

/** The digests of the stored contents that an event refers to. */
type DigestsOf<E extends DomainEvent> = { readonly [T in E['type']]?: (data: Extract<E, { type: T }>['data']) => readonly string[] };

const ofSkills = {
  SkillImported: ({ package_digest }) => [package_digest],
  SkillInstalled: ({ package_digest }) => [package_digest],
} as const satisfies DigestsOf<SkillEvent>;

const ofListings = { ListingVersionPublished: ({ sha256 }) => [sha256] } as const satisfies DigestsOf<ListingEvent>;

const ofSessions = { SessionAttachmentAdded: ({ sha256 }) => [sha256] } as const satisfies DigestsOf<SessionEvent>;

const ofPictures = {
  BrandFaviconChanged: ({ sha256 }) => [sha256],
  BrandLogoChanged: ({ sha256 }) => [sha256],
  PlatformFaviconChanged: ({ sha256 }) => [sha256],
  UseCaseIconChanged: ({ sha256 }) => [sha256],
} as const satisfies DigestsOf<PictureEvent>;

const digestsOfDataset = ({ dataset_sha256 }: { readonly dataset_sha256?: string | null }) => (dataset_sha256 ? [dataset_sha256] : []);

const ofBenchmarks = {
  BenchmarkCreated: digestsOfDataset,
  BenchmarkUpdated: digestsOfDataset,
  BenchmarkRunQueued: digestsOfDataset,
  BenchmarkTaskScored: ({ trajectory_sha256 }) => (trajectory_sha256 === null ? [] : [trajectory_sha256]),
} as const satisfies DigestsOf<BenchmarkEvent | BenchmarkRunEvent>;

const ofMemories = {
  MemoryImportStarted: ({ sha256 }) => [sha256],
  MemoryImported: ({ segments }) => segments.map(({ sha256 }) => sha256),
  MemoryRemembered: ({ sha256 }) => [sha256],
} as const satisfies DigestsOf<MemoryImportEvent | AgentMemoryEvent>;

const ofMail = { MailAttachmentAdded: ({ sha256 }) => [sha256] } as const satisfies DigestsOf<AttachmentEvent>;

/** Must name every area whose events refer to stored contents: `annals blobs verify` checks only the digests from here. */
const DIGESTS: Readonly<Record<string, (data: never) => readonly string[]>> = {
  ...ofSkills,
  ...ofSessions,
  ...ofPictures,
  ...ofListings,
  ...ofBenchmarks,
  ...ofMemories,
  ...ofMail,
};

export type NamingEvent = Pick<Recorded, 'event_id' | 'tenant' | 'type' | 'data'> & { readonly meta: Pick<Metadata, 'facts'> };

/** Returns the digests of contents that must exist. */
export const namedBlobs = (event: Pick<NamingEvent, 'type' | 'data' | 'meta'>): readonly string[] => {
  const { type, data } = event;
  // The metadata of received mail contain the digests of its attachments, because its data are encrypted.
  if (type === 'MailReceived' || type === 'MailBlocked' || type === 'MailHeld')
    return (factsOf(event) as MailFacts).mail.attachments.map(({ sha256 }) => sha256);
  return DIGESTS[type]?.(data as never) ?? [];
};
