//! TLS to the broker, by the `ssl_*` options.
//!
//! `ssl_ca_file` replaces the system's authorities, as it does for Python. Unlike Python, which looks at the name in
//! the certificate only when there is a single broker, we look at it always; `ssl_enforce_hostname_verification =
//! false` gives the old leniency back and leaves the chain of trust checked.

use std::path::Path;
use std::sync::Arc;

use lapin::tcp::RustlsConnector;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::SetupError;
use crate::settings::RabbitSettings;

/// The connector that the options ask for; none without `ssl`.
pub(super) fn connector(options: &RabbitSettings) -> Result<Option<RustlsConnector>, SetupError> {
    if !options.ssl {
        return Ok(None);
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut verifier = match file(&options.ssl_ca_file) {
        Some(file) => own_authorities(file, &provider)?,
        None => system_authorities(&provider)?,
    };
    if !options.ssl_enforce_hostname_verification {
        verifier = Arc::new(AnyName(verifier));
    }
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| refused("ssl", error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let config = match file(&options.ssl_cert_file) {
        Some(certificate) => {
            // A file may hold both, as OpenSSL allows.
            let key = file(&options.ssl_key_file).unwrap_or(certificate);
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable("ssl_key_file", key, error))?;
            builder
                .with_client_auth_cert(certificates("ssl_cert_file", certificate)?, key)
                .map_err(|error| refused("ssl_cert_file", error))?
        }
        None => builder.with_no_client_auth(),
    };
    Ok(Some(RustlsConnector::from(config)))
}

fn file(option: &str) -> Option<&Path> {
    (!option.is_empty()).then(|| Path::new(option))
}

fn own_authorities(file: &Path, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, SetupError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates("ssl_ca_file", file)?);
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .map_err(|error| refused("ssl_ca_file", error))?;
    Ok(verifier)
}

fn system_authorities(provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, SetupError> {
    let verifier =
        rustls_platform_verifier::Verifier::new(provider.clone()).map_err(|error| refused("ssl_ca_file", error))?;
    Ok(Arc::new(verifier))
}

fn certificates(option: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let certificates: Vec<_> = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(option, file, error))?;
    if certificates.is_empty() {
        return Err(refused(
            option,
            format!("{} holds no certificate in PEM form", file.display()),
        ));
    }
    Ok(certificates)
}

fn unreadable(option: &str, file: &Path, error: impl std::fmt::Display) -> SetupError {
    refused(option, format!("{}: {error}", file.display()))
}

fn refused(option: &str, problem: impl std::fmt::Display) -> SetupError {
    SetupError::option(option, problem.to_string())
}

/// Accepts a certificate that is valid but for its name.
#[derive(Debug)]
struct AnyName(Arc<dyn ServerCertVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        // The chain is checked before the name: a wrong name as the only complaint means that the chain is good.
        match self
            .0
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
