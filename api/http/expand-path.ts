/**
 * Replaces the placeholders in a path template by path parameters of the request. If there is no such parameter, the
 * field of the reply with the same name is used.
 */
export const expandPath = (template: string, params: Readonly<Record<string, string>>, reply: unknown): string =>
  template.replace(/:([a-z_]+)/g, (_, name: string) => params[name] ?? String((reply as Record<string, unknown>)?.[name] ?? ''));
