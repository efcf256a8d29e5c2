// npm's oidc-provider with one client; whoever types a name signs in as that user.
import { Provider } from 'oidc-provider';

const [port, redirect, secret] = process.argv.slice(2);
const describe = (id) => ({
  sub: id,
  preferred_username: id,
  email: `${id}@corp.example`,
  email_verified: true,
});
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: 'prime', client_secret: secret, redirect_uris: [redirect] }],
  claims: { openid: ['sub'], profile: ['preferred_username'], email: ['email', 'email_verified'] },
  pkce: { required: () => true },
  findAccount: async (_, id) => ({ accountId: id, claims: async () => describe(id) }),
  cookies: { keys: ['of the test'] },
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
