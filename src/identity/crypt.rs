//! Secrets at rest, readable by every engine that has the same `auth_encryption_key`, of whichever kind and age.
//!
//! What is written is a Fernet token, which a wrong key is told from by its signature. Two older forms can be read. They
//! have no signature, so there a wrong key shows itself only by bad padding or by bytes that are no text.
//!
//! The key is text, and how it becomes bytes is a matter of record: Fernet takes the first 32 characters of a key that
//! is doubled if it is shorter; the older forms take the first 32 as they are, whatever size of AES that makes.

use std::fmt;

use aes::cipher::block_padding::{NoPadding, Pkcs7};
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use aes::{Aes128, Aes192, Aes256};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use sha2::Sha256;

use super::credentials::UserCredentials;
use crate::clock::Clock;
use crate::exception::RemoteException;
use crate::python;
use crate::python::json_reader::loads;
use crate::store::{NewUserCreds, PropertiesData, UserCreds};

/// The method with which everything is encrypted today.
const FERNET: &str = "cryptography_decrypt_v1";
const AES_CBC: &str = "oslo_decrypt_v1";
const AES_CFB: &str = "heat_decrypt";

const KEY_CHARACTERS: usize = 32;
const BLOCK: usize = 16;

/// The parts of a Fernet token: version, time, initialisation vector, ciphertext, signature.
const FERNET_VERSION: u8 = 0x80;
const FERNET_HEADER: usize = 1 + 8 + BLOCK;
const FERNET_SIGNATURE: usize = 32;

/// What the `password` column of `user_creds` holds.
const PASSWORD_COLUMN: usize = 255;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum CryptError {
    #[error("Can not decrypt data with the auth_encryption_key in heat config.")]
    WrongKey,
    #[error("auth_encryption_key must be 32 characters")]
    BadKey,
    #[error("{0:?} is no decryption method")]
    UnknownMethod(String),
    #[error("encrypted data is not base64 or too short")]
    Malformed,
    #[error("{0} is not a pair of decryption method and encrypted text")]
    NotAPair(String),
    #[error("Length of OS_PASSWORD after encryption exceeds Heat limit (255 chars)")]
    PasswordTooLong,
}

impl RemoteException for CryptError {
    fn class_name(&self) -> &'static str {
        match self {
            CryptError::WrongKey => "InvalidEncryptionKey",
            _ => "Error",
        }
    }
}

/// An encrypted text and how it is decrypted, the two columns that hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encrypted {
    pub method: String,
    pub data: String,
}

/// `[DEFAULT] auth_encryption_key`
#[derive(Clone)]
pub struct EncryptionKey {
    text: SecretString,
    clock: Clock,
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey")
    }
}

impl EncryptionKey {
    /// Takes a key that Fernet can use: 16 characters or 32 and more, of one byte each.
    pub fn new(text: SecretString, clock: Clock) -> Result<Self, CryptError> {
        let key = Self { text, clock };
        key.fernet_key()?;
        Ok(key)
    }

    pub fn encrypt(&self, text: &str) -> Result<Encrypted, CryptError> {
        let (signing_key, encryption_key) = self.fernet_key()?;
        let vector: [u8; BLOCK] = self.clock.random_bytes();
        let seconds = self.clock.utc_now().and_utc().timestamp().unsigned_abs();
        let ciphertext = cbc::Encryptor::<Aes128>::new(&encryption_key.into(), &vector.into())
            .encrypt_padded_vec::<Pkcs7>(text.as_bytes());
        let mut token = vec![FERNET_VERSION];
        token.extend_from_slice(&seconds.to_be_bytes());
        token.extend_from_slice(&vector);
        token.extend_from_slice(&ciphertext);
        let signature = signature(&signing_key, &token)?.finalize().into_bytes();
        token.extend_from_slice(&signature);
        Ok(Encrypted {
            method: FERNET.to_owned(),
            data: URL_SAFE.encode(token),
        })
    }

    pub fn decrypt(&self, method: &str, data: &str) -> Result<String, CryptError> {
        let bytes = match method {
            FERNET => self.fernet_decrypt(data)?,
            AES_CBC => self.cbc_decrypt(data)?,
            AES_CFB => self.cfb_decrypt(data)?,
            _ => return Err(CryptError::UnknownMethod(method.to_owned())),
        };
        String::from_utf8(bytes).map_err(|_| CryptError::WrongKey)
    }

    /// Credentials as their row holds them.
    pub fn seal_credentials(&self, credentials: &UserCredentials) -> Result<NewUserCreds, CryptError> {
        let credentials = credentials.clone();
        let mut row = NewUserCreds {
            username: credentials.username,
            region_name: credentials.region_name,
            tenant: credentials.tenant,
            auth_url: credentials.auth_url,
            tenant_id: credentials.tenant_id,
            trustor_user_id: credentials.trustor_user_id,
            ..NewUserCreds::default()
        };
        if let Some(trust_id) = credentials.trust_id {
            let encrypted = self.encrypt(&trust_id)?;
            row.trust_id = Some(encrypted.data);
            row.decrypt_method = Some(encrypted.method);
        } else if let Some(password) = credentials.password {
            let encrypted = self.encrypt(&password)?;
            if encrypted.data.len() > PASSWORD_COLUMN {
                return Err(CryptError::PasswordTooLong);
            }
            row.password = Some(encrypted.data);
            row.decrypt_method = Some(encrypted.method);
        }
        Ok(row)
    }

    pub fn open_credentials(&self, row: &UserCreds) -> Result<UserCredentials, CryptError> {
        let open = |secret: &Option<String>| match (&row.decrypt_method, secret) {
            (Some(method), Some(secret)) => self.decrypt(method, secret).map(Some),
            _ => Ok(None),
        };
        Ok(UserCredentials {
            username: row.username.clone(),
            password: open(&row.password)?,
            region_name: row.region_name.clone(),
            tenant: row.tenant.clone(),
            tenant_id: row.tenant_id.clone(),
            auth_url: row.auth_url.clone(),
            trust_id: open(&row.trust_id)?,
            trustor_user_id: row.trustor_user_id.clone(),
        })
    }

    /// Properties or attributes as their row holds them, each value encrypted if `encrypt` is set and there is any.
    pub fn seal_properties(
        &self,
        properties: &Map<String, Value>,
        encrypt: bool,
    ) -> Result<PropertiesData, CryptError> {
        let encrypted = encrypt && !properties.is_empty();
        let stored = if encrypted {
            let seal = |(name, value): (&String, &Value)| {
                let sealed = self.encrypt(&python::json::dumps(value))?;
                Ok((name.clone(), pair(sealed)))
            };
            properties.iter().map(seal).collect::<Result<_, CryptError>>()?
        } else {
            properties.clone()
        };
        Ok(PropertiesData {
            data: Some(python::json::dumps(&Value::Object(stored))),
            encrypted,
        })
    }

    pub fn open_properties(&self, row: &PropertiesData) -> Result<Map<String, Value>, CryptError> {
        let Some(text) = &row.data else {
            return Ok(Map::new());
        };
        let Ok(Value::Object(stored)) = loads(text) else {
            return Err(CryptError::Malformed);
        };
        if !row.encrypted {
            return Ok(stored);
        }
        let open = |(name, value): (&String, &Value)| {
            let text = self.open_pair(name, value)?;
            // What went in was JSON, so anything else that comes out was not encrypted with this key.
            let value = loads(&text).map_err(|_| CryptError::WrongKey)?;
            Ok((name.clone(), value))
        };
        stored.iter().map(open).collect()
    }

    /// Encrypts the parameters of an environment that are hidden, each as the text that stands for it, and notes their
    /// names in it. Gives the names.
    pub fn hide_parameters(
        &self,
        environment: &mut Map<String, Value>,
        hidden: &[(String, String)],
    ) -> Result<Vec<String>, CryptError> {
        let mut names = Vec::new();
        if let Some(Value::Object(parameters)) = environment.get_mut("parameters") {
            for (name, value) in parameters {
                if let Some((_, text)) = hidden.iter().find(|(hidden, _)| hidden == name) {
                    *value = pair(self.encrypt(text)?);
                    names.push(name.clone());
                }
            }
        }
        let noted = environment
            .entry("encrypted_param_names")
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(noted) = noted {
            for name in &names {
                if !noted.iter().any(|there| there == name) {
                    noted.push(Value::from(name.as_str()));
                }
            }
        }
        Ok(names)
    }

    /// Decrypts the parameters that an environment names as encrypted. The names stay, as Python leaves them.
    pub fn reveal_parameters(&self, environment: &mut Map<String, Value>) -> Result<(), CryptError> {
        let Some(Value::Array(names)) = environment.get("encrypted_param_names").cloned() else {
            return Ok(());
        };
        let Some(Value::Object(parameters)) = environment.get_mut("parameters") else {
            return Ok(());
        };
        for name in names.iter().filter_map(Value::as_str) {
            match parameters.get_mut(name) {
                Some(value) if as_pair(value).is_some() => *value = Value::String(self.open_pair(name, value)?),
                Some(_) => tracing::warn!(parameter = name, "a parameter noted as encrypted is not"),
                None => {}
            }
        }
        Ok(())
    }

    fn open_pair(&self, name: &str, value: &Value) -> Result<String, CryptError> {
        let (method, data) = as_pair(value).ok_or_else(|| CryptError::NotAPair(name.to_owned()))?;
        self.decrypt(method, data)
    }

    /// The halves of a Fernet key: for signing and for encryption.
    fn fernet_key(&self) -> Result<([u8; BLOCK], [u8; BLOCK]), CryptError> {
        let text = self.text.expose_secret();
        let doubled: String = if text.chars().count() < KEY_CHARACTERS {
            text.repeat(2)
        } else {
            text.to_owned()
        };
        let key: String = doubled.chars().take(KEY_CHARACTERS).collect();
        let (signing, encryption) = key.as_bytes().split_at_checked(BLOCK).ok_or(CryptError::BadKey)?;
        let half = |bytes: &[u8]| <[u8; BLOCK]>::try_from(bytes).map_err(|_| CryptError::BadKey);
        Ok((half(signing)?, half(encryption)?))
    }

    fn fernet_decrypt(&self, data: &str) -> Result<Vec<u8>, CryptError> {
        let (signing_key, encryption_key) = self.fernet_key()?;
        // A token that is none, and one of another key, are the same to the caller, and to Python.
        let token = URL_SAFE.decode(data.trim()).map_err(|_| CryptError::WrongKey)?;
        let body_end = token.len().checked_sub(FERNET_SIGNATURE).ok_or(CryptError::WrongKey)?;
        let (body, given) = token.split_at(body_end);
        if body.first() != Some(&FERNET_VERSION) {
            return Err(CryptError::WrongKey);
        }
        signature(&signing_key, body)?
            .verify_slice(given)
            .map_err(|_| CryptError::WrongKey)?;
        let vector = body
            .get(FERNET_HEADER - BLOCK..FERNET_HEADER)
            .ok_or(CryptError::WrongKey)?;
        let ciphertext = &body[FERNET_HEADER..];
        cbc::Decryptor::<Aes128>::new_from_slices(&encryption_key, vector)
            .map_err(|_| CryptError::WrongKey)?
            .decrypt_padded_vec::<Pkcs7>(ciphertext)
            .map_err(|_| CryptError::WrongKey)
    }

    /// The key of the older forms.
    fn plain_key(&self) -> String {
        self.text.expose_secret().chars().take(KEY_CHARACTERS).collect()
    }

    fn cbc_decrypt(&self, data: &str) -> Result<Vec<u8>, CryptError> {
        let (vector, ciphertext) = vector_and_ciphertext(data)?;
        let key = self.plain_key();
        let padded = match key.len() {
            16 => cbc_blocks(
                cbc::Decryptor::<Aes128>::new_from_slices(key.as_bytes(), &vector),
                &ciphertext,
            ),
            24 => cbc_blocks(
                cbc::Decryptor::<Aes192>::new_from_slices(key.as_bytes(), &vector),
                &ciphertext,
            ),
            32 => cbc_blocks(
                cbc::Decryptor::<Aes256>::new_from_slices(key.as_bytes(), &vector),
                &ciphertext,
            ),
            _ => Err(CryptError::BadKey),
        }?;
        without_padding(padded).ok_or(CryptError::WrongKey)
    }

    fn cfb_decrypt(&self, data: &str) -> Result<Vec<u8>, CryptError> {
        let (vector, mut text) = vector_and_ciphertext(data)?;
        let key = self.plain_key();
        let key = key.as_bytes();
        match key.len() {
            16 => cfb_mode::Decryptor::<Aes128>::new_from_slices(key, &vector).map(|mode| mode.decrypt(&mut text)),
            24 => cfb_mode::Decryptor::<Aes192>::new_from_slices(key, &vector).map(|mode| mode.decrypt(&mut text)),
            32 => cfb_mode::Decryptor::<Aes256>::new_from_slices(key, &vector).map(|mode| mode.decrypt(&mut text)),
            _ => return Err(CryptError::BadKey),
        }
        .map_err(|_| CryptError::Malformed)?;
        Ok(text)
    }
}

fn signature(key: &[u8; BLOCK], signed: &[u8]) -> Result<Hmac<Sha256>, CryptError> {
    let mut signature = Hmac::<Sha256>::new_from_slice(key).map_err(|_| CryptError::BadKey)?;
    signature.update(signed);
    Ok(signature)
}

fn vector_and_ciphertext(data: &str) -> Result<(Vec<u8>, Vec<u8>), CryptError> {
    let mut vector = STANDARD.decode(data.trim()).map_err(|_| CryptError::Malformed)?;
    if vector.len() < BLOCK {
        return Err(CryptError::Malformed);
    }
    let ciphertext = vector.split_off(BLOCK);
    Ok((vector, ciphertext))
}

fn cbc_blocks<D: BlockModeDecrypt, E>(mode: Result<D, E>, ciphertext: &[u8]) -> Result<Vec<u8>, CryptError> {
    let mode = mode.map_err(|_| CryptError::Malformed)?;
    mode.decrypt_padded_vec::<NoPadding>(ciphertext)
        .map_err(|_| CryptError::Malformed)
}

/// Takes off padding that is nearly that of ANSI X9.23: zeros and their number, which does not count the byte that
/// holds it.
fn without_padding(mut padded: Vec<u8>) -> Option<Vec<u8>> {
    let zeros = usize::from(*padded.last()?);
    let length = padded.len().checked_sub(zeros + 1)?;
    let padding_is_zero = padded[length..padded.len() - 1].iter().all(|byte| *byte == 0);
    if zeros >= BLOCK || !padding_is_zero {
        return None;
    }
    padded.truncate(length);
    Some(padded)
}

fn pair(encrypted: Encrypted) -> Value {
    Value::Array(vec![encrypted.method.into(), encrypted.data.into()])
}

fn as_pair(value: &Value) -> Option<(&str, &str)> {
    match value.as_array()?.as_slice() {
        [method, data] => Some((method.as_str()?, data.as_str()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KEY: &str = "notgood but just long enough i t";

    fn key(text: &str) -> EncryptionKey {
        EncryptionKey::new(SecretString::from(text.to_owned()), Clock::system()).expect("a good key")
    }

    fn object(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other} is no object"),
        }
    }

    #[test]
    fn what_is_encrypted_can_be_read_again() {
        for text in ["", "hush", "sechzehn Zeichen", &"\u{20ac}".repeat(20_000)] {
            let encrypted = key(KEY).encrypt(text).expect("encrypts");
            assert_eq!(encrypted.method, "cryptography_decrypt_v1");
            assert_eq!(
                key(KEY).decrypt(&encrypted.method, &encrypted.data).as_deref(),
                Ok(text)
            );
        }
    }

    #[test]
    fn a_wrong_key_is_told() {
        let encrypted = key(KEY).encrypt("hush").expect("encrypts");
        let other = key("0123456789abcdef0123456789abcdef");
        assert_eq!(
            other.decrypt(&encrypted.method, &encrypted.data),
            Err(CryptError::WrongKey)
        );
        assert_eq!(key(KEY).decrypt(FERNET, "rubbish"), Err(CryptError::WrongKey));
        assert_eq!(CryptError::WrongKey.class_name(), "InvalidEncryptionKey");
    }

    #[test]
    fn keys_are_doubled_or_cut() {
        let short = key("0123456789abcdef");
        let doubled = key("0123456789abcdef0123456789abcdef and more");
        let encrypted = short.encrypt("hush").expect("encrypts");
        assert_eq!(
            doubled.decrypt(&encrypted.method, &encrypted.data).as_deref(),
            Ok("hush")
        );
        for bad in ["", "fifteen chars..", "\u{e9}123456789abcdef0123456789abcdef"] {
            let made = EncryptionKey::new(SecretString::from(bad.to_owned()), Clock::system());
            assert_eq!(made.err(), Some(CryptError::BadKey), "{bad:?}");
        }
    }

    #[test]
    fn properties_are_encrypted_one_by_one() {
        let properties = object(json!({"b": {"x": [1, 2.5, null]}, "a": "\u{e9}"}));
        let row = key(KEY).seal_properties(&properties, true).expect("encrypts");
        assert!(row.encrypted);
        assert_eq!(key(KEY).open_properties(&row), Ok(properties.clone()));
        let plain = key(KEY).seal_properties(&properties, false).expect("writes");
        assert_eq!(
            plain.data.as_deref(),
            Some(r#"{"b": {"x": [1, 2.5, null]}, "a": "\u00e9"}"#)
        );
        let empty = key(KEY).seal_properties(&Map::new(), true).expect("writes");
        assert_eq!(empty, PropertiesData::plain("{}"));
    }

    #[test]
    fn parameters_are_hidden_and_shown_again() {
        let mut environment = object(json!({"parameters": {"a": "hush", "b": 2}, "encrypted_param_names": []}));
        key(KEY)
            .hide_parameters(
                &mut environment,
                &[("a", "hush"), ("absent", "")].map(|(name, text)| (name.to_owned(), text.to_owned())),
            )
            .expect("encrypts");
        assert_eq!(environment["parameters"]["a"][0], "cryptography_decrypt_v1");
        assert_eq!(environment["encrypted_param_names"], json!(["a"]));
        key(KEY).reveal_parameters(&mut environment).expect("decrypts");
        assert_eq!(environment["parameters"], json!({"a": "hush", "b": 2}));
        key(KEY)
            .reveal_parameters(&mut environment)
            .expect("leaves what is clear");
        assert_eq!(environment["parameters"]["a"], "hush");
    }

    #[test]
    fn credentials_go_into_the_row_and_back() {
        let trust = UserCredentials {
            trust_id: Some("t1".to_owned()),
            trustor_user_id: Some("u1".to_owned()),
            ..UserCredentials::default()
        };
        let row = key(KEY).seal_credentials(&trust).expect("encrypts");
        assert_eq!(
            (row.password.as_ref(), row.decrypt_method.as_deref()),
            (None, Some(FERNET))
        );
        assert_ne!(row.trust_id.as_deref(), Some("t1"));
        let long = UserCredentials {
            password: Some("x".repeat(200)),
            ..UserCredentials::default()
        };
        assert_eq!(key(KEY).seal_credentials(&long), Err(CryptError::PasswordTooLong));
    }
}
