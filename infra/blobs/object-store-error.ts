/**
 * Thrown if the object store refused a request, or could not be reached. `status` is 0 if there was no complete answer.
 * `code` is the code in the answer, such as AccessDenied.
 */
export class ObjectStoreError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'ObjectStoreError';
    this.status = status;
    this.code = code;
  }
}
