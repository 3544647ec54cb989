/** Undefined for anything else. The server of `serve` replaces the global class Response, so `instanceof` does not work. */
export const statusOfResponse = (value: unknown): number | undefined => {
  const isResponse = Object.prototype.toString.call(value) === '[object Response]';
  return isResponse ? (value as Response).status : undefined;
};
