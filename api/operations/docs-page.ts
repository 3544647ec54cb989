/** Nothing of the page calls a foreign host. */
const SCALAR_SETTINGS = {
  telemetry: false,
  withDefaultFonts: false,
  showDeveloperTools: 'never',
  hideClientButton: true,
  agent: { disabled: true },
  mcp: { disabled: true },
};

/**
 * What starts the page. It asks where it was opened, whatever the document calls the service: elsewhere its policy lets it not. And its samples
 * leave out what may be left out: Scalar writes every parameter into them, and one that is empty is refused.
 */
export const BOOT_SCRIPT = `fetch('/openapi.json').then((answer) => answer.json()).then((content) => {
  const operations = Object.values(content.paths).flatMap((path) => Object.values(path));
  const parameters = [content.components, ...operations].flatMap((one) => Object.values(one.parameters ?? []));
  for (const one of parameters) if (one.in && !one.required) one.examples = { default: { value: '', 'x-disabled': true } };
  Scalar.createApiReference('#app', { ...${JSON.stringify(SCALAR_SETTINGS)}, content, servers: [{ url: location.origin }] });
});
`;

/** What the page may load and call: this service alone. */
export const CONTENT_SECURITY_POLICY = `default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The API reference as a page. */
export const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Annals API</title></head>
<body><div id="app"></div><script src="/docs/scalar.js"></script><script src="/docs/boot.js"></script></body>
</html>
`;
