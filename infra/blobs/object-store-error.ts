/** `status` is 0 if no complete response was received. `code` is that of the response, such as AccessDenied. */
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
