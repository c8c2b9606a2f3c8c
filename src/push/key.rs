//! The gate's own key for push services: they deliver what is signed by the key that a browser has subscribed to (VAPID,
//! RFC 8292).

use base64ct::{Base64UrlUnpadded, Encoding as _};
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use portcullis_core::Moment;
use sha2::{Digest as _, Sha256};

/// How long a signature counts, in seconds. Push services take at most a day.
const LIFETIME: u64 = 12 * 3600;

pub(crate) struct PushKey(SigningKey);

impl PushKey {
    /// The key that belongs to a random secret. Nearly every number is a key; none, if all that were tried are not.
    pub(crate) fn of(secret: &str) -> Option<Self> {
        (0..=u8::MAX).find_map(|count| {
            let number = Sha256::new().chain_update(b"web push ").chain_update([count]).chain_update(secret).finalize();
            SigningKey::from_slice(&number).ok().map(Self)
        })
    }

    /// The public half, as browsers take it.
    pub(super) fn public(&self) -> String {
        Base64UrlUnpadded::encode_string(self.0.verifying_key().to_encoded_point(false).as_bytes())
    }

    /// The `Authorization` of a push to a service. `audience` is the service's origin, `contact` whose gate it is.
    pub(super) fn authorization(&self, audience: &str, contact: &str, now: Moment) -> String {
        let claims = serde_json::json!({"aud": audience, "exp": now.0 / 1000 + LIFETIME, "sub": contact});
        let encode = |text: &str| Base64UrlUnpadded::encode_string(text.as_bytes());
        let signed = format!("{}.{}", encode(r#"{"typ":"JWT","alg":"ES256"}"#), encode(&claims.to_string()));
        let signature: Signature = self.0.sign(signed.as_bytes());
        let signature = Base64UrlUnpadded::encode_string(&signature.to_bytes());
        format!("vapid t={signed}.{signature}, k={}", self.public())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use p256::ecdsa::signature::Verifier as _;

    #[test]
    fn a_secret_is_always_the_same_key_and_its_tokens_are_signed_by_it() {
        let key = PushKey::of("ptc_1").unwrap();
        assert_eq!(key.public(), PushKey::of("ptc_1").unwrap().public());
        assert_ne!(key.public(), PushKey::of("ptc_2").unwrap().public());
        let header = key.authorization("https://push.example.org", "https://gate.example.org", Moment(5_000));
        let token = header.strip_prefix("vapid t=").unwrap().split(',').next().unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let decode = |text: &str| Base64UrlUnpadded::decode_vec(text).unwrap();
        let signature = Signature::from_slice(&decode(signature)).unwrap();
        key.0.verifying_key().verify(signed.as_bytes(), &signature).unwrap();
        let claims = String::from_utf8(decode(signed.split_once('.').unwrap().1)).unwrap();
        assert_eq!(
            claims, r#"{"aud":"https://push.example.org","exp":43205,"sub":"https://gate.example.org"}"#,
            "and not for longer than a day"
        );
    }
}
