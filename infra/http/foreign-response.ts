/**
 * Returns the HTTP status of a response to a request of this process; undefined for anything else. The HTTP server of
 * `serve` replaces the global class Response, so `instanceof` does not recognise such a response.
 */
export const statusOfResponse = (value: unknown): number | undefined => {
  const isResponse = Object.prototype.toString.call(value) === '[object Response]';
  return isResponse ? (value as Response).status : undefined;
};
