import type { RefSet } from '../../domain/agents/code-ref.ts';
import { invalid, type Refusal } from '../../domain/refusal.ts';
import { type FailedEgress, refusalOfEgress } from '../egress-failure.ts';

/**
 * The reason why a repository cannot be read. `no_repository`: the host answers, but does not have this repository, or
 * we may not read it.
 */
export type CodeHostFailure = FailedEgress | { readonly failure: 'no_repository'; readonly message: string };

/**
 * The branches and tags that could be listed. `isCached`: whether the list was fetched for an earlier request.
 * `failed`: why the lists are incomplete, if a request failed; otherwise null.
 */
export type ListedRefs = RefSet & { readonly isCached: boolean; readonly failed: CodeHostFailure | null };

/** A value from the host or, if there is none, the reason for the failure. */
export type HostAnswer<T> = { readonly value: T; readonly failed: null } | { readonly value: null; readonly failed: CodeHostFailure };

/** Reads from the hosts of git repositories. No function throws if the host fails. */
export type CodeHost = {
  /** Lists branches and tags, at most MAX_REFS of each. The result can be up to 60 s old. */
  readonly listRefs: (url: string) => Promise<ListedRefs>;
  /** Asks the host whether the repository has a branch or tag of this name. */
  readonly hasRef: (url: string, name: string) => Promise<HostAnswer<boolean>>;
  /** Asks the host for the branch to which HEAD points; null if there is none. */
  readonly headBranch: (url: string) => Promise<HostAnswer<string | null>>;
  /** Returns the platform's token for the host of the URL, as `token` or `user:token`; null if it has none. */
  readonly tokenFor: (url: string) => string | null;
};

/** Returns the refusal of a request that needs the host. `pointer` names the field that the request must correct. */
export const refusalOfHost = (failed: CodeHostFailure, pointer: string): Refusal =>
  failed.failure === 'no_repository' ? invalid(pointer, failed.message, 'no_repository') : refusalOfEgress(failed, pointer);
