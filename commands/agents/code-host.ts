import type { RefSet } from '../../domain/agents/code-ref.ts';
import { invalid, type Refusal } from '../../domain/refusal.ts';
import { type FailedEgress, refusalOfEgress } from '../egress-failure.ts';

/** `no_repository`: the host answers, but has no such repository or does not let the platform read it. */
export type CodeHostFailure = FailedEgress | { readonly failure: 'no_repository'; readonly message: string };

/** `isCached`: from an earlier request. `failed`: why a request failed, so that the lists are incomplete. */
export type ListedRefs = RefSet & { readonly isCached: boolean; readonly failed: CodeHostFailure | null };

export type HostAnswer<T> = { readonly value: T; readonly failed: null } | { readonly value: null; readonly failed: CodeHostFailure };

/** Reads from the hosts of git repositories. A failure is in the result, and not thrown. */
export type CodeHost = {
  /** Returns at most MAX_REFS branches and at most MAX_REFS tags, up to 60 s old. */
  readonly listRefs: (url: string) => Promise<ListedRefs>;
  /** Asks the host whether it has this branch or tag. */
  readonly hasRef: (url: string, name: string) => Promise<HostAnswer<boolean>>;
  /** The branch to which HEAD points, if any. Asks the host. */
  readonly headBranch: (url: string) => Promise<HostAnswer<string | null>>;
  /** As `token` or `user:token`; null if the platform has no token for this host. */
  readonly tokenFor: (url: string) => string | null;
};

/** `pointer`: the field of the request that must be corrected. */
export const refusalOfHost = (failed: CodeHostFailure, pointer: string): Refusal =>
  failed.failure === 'no_repository' ? invalid(pointer, failed.message, 'no_repository') : refusalOfEgress(failed, pointer);
