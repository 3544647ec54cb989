import type { EgressFailure, FailedEgress } from '../../commands/egress-failure.ts';

/** The message is for users: it names the host, but no path, header or credential. */
export class EgressError extends Error {
  readonly failure: EgressFailure;
  constructor(failure: EgressFailure, message: string) {
    super(message);
    this.name = 'EgressError';
    this.failure = failure;
  }
}

/** @throws any error that is not of the egress client */
export const failedEgressOf = (error: unknown): FailedEgress => {
  if (error instanceof EgressError) return { failure: error.failure, message: error.message };
  throw error;
};
