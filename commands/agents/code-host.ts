import type { RefSet } from '../../domain/agents/code-ref.ts';
import { invalid, type Refusal } from '../../domain/refusal.ts';
import { type FailedEgress, refusalOfEgress } from '../egress-failure.ts';

/**
 * Why a repository cannot be read. `no_repository` means that the host answers, but has no such repository or does not
 * let the platform read it.
 */
export type CodeHostFailure = FailedEgress | { readonly failure: 'no_repository'; readonly message: string };

/**
 * The branches and tags that could be listed. `isCached` is whether they come from an earlier request. If a request
 * failed, so that the lists are incomplete, `failed` is the reason; otherwise null.
 */
export type ListedRefs = RefSet & { readonly isCached: boolean; readonly failed: CodeHostFailure | null };

/** A value from the host or, if the host did not return it, the reason. */
export type HostAnswer<T> = { readonly value: T; readonly failed: null } | { readonly value: null; readonly failed: CodeHostFailure };

/**
 * Reads from the hosts of git repositories. If a host fails, the functions do not throw: the result contains the
 * reason.
 */
export type CodeHost = {
  /** Lists branches and tags, at most MAX_REFS of each. The lists can be up to 60 s old. */
  readonly listRefs: (url: string) => Promise<ListedRefs>;
  /** Asks the host whether the repository has a branch or tag of this name. */
  readonly hasRef: (url: string, name: string) => Promise<HostAnswer<boolean>>;
  /** Asks the host for the branch to which HEAD points. The value is null if there is none. */
  readonly headBranch: (url: string) => Promise<HostAnswer<string | null>>;
  /**
   * Returns the platform's token for the host of the URL, as `token` or `user:token`; null if it has no token for this
   * host.
   */
  readonly tokenFor: (url: string) => string | null;
};

/**
 * Returns the refusal of a request for which the host could not be read. `pointer` names the field of the request that
 * must be corrected.
 */
export const refusalOfHost = (failed: CodeHostFailure, pointer: string): Refusal =>
  failed.failure === 'no_repository' ? invalid(pointer, failed.message, 'no_repository') : refusalOfEgress(failed, pointer);
